package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
)

func leaseEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.LeaseClaim, domain.ValidateLeaseClaim, domain.ClaimLease),
		read(subjects.LeaseRead, domain.ValidateLeaseRead, domain.ReadLease),
		write(subjects.LeaseRenew, domain.ValidateLeaseRenew, domain.RenewLease),
		write(subjects.LeaseRelease, domain.ValidateLeaseRelease, domain.ReleaseLease),
	}
}
