package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
)

func actorTransferEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.ActorTransferPrepare, domain.ValidateActorTransferPrepare, domain.PrepareActorTransfer),
		write(subjects.ActorTransferCommit, domain.ValidateActorTransferAdvance, domain.CommitActorTransfer),
		write(subjects.ActorTransferActivate, domain.ValidateActorTransferAdvance, domain.ActivateActorTransfer),
		write(subjects.ActorTransferAbort, domain.ValidateActorTransferAdvance, domain.AbortActorTransfer),
		write(subjects.ActorTransferTakeOver, domain.ValidateActorTransferTakeOver, domain.TakeOverActorTransfer),
		read(subjects.ActorTransferResolve, domain.ValidateActorTransferResolve, domain.ResolveActorTransfer),
	}
}
