package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
)

func changeStampEndpoints() []*endpoint {
	return []*endpoint{read(subjects.ChangeStampGet, domain.ValidateChangeStampGet, domain.GetChangeStamp)}
}
