package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// ActsFor returns the id of the owner that a checked request acts for, as far as the
// request alone says so; empty is nobody. [ActsForRow] knows the rest.
func ActsFor(req any) string {
	switch r := req.(type) {
	case *wire.LeaseClaimRequest:
		return r.OwnerID
	case *wire.LeaseRenewRequest:
		return r.Token.OwnerID
	case *wire.LeaseReleaseRequest:
		return r.Token.OwnerID
	case *wire.OwnerRemoveAllRequest:
		return r.Owner.OwnerID

	case *wire.MeshNodeUpdateRequest:
		return r.Descriptor.OwnerID
	case *wire.MeshNodeRemoveRequest:
		return r.Owner.OwnerID
	case *wire.ClientServerUpdateRequest:
		return r.Descriptor.OwnerID
	case *wire.ClientServerRemoveRequest:
		return r.Owner.OwnerID
	case *wire.FanoutPublisherUpdateRequest:
		return r.Descriptor.OwnerID
	case *wire.FanoutPublisherRemoveRequest:
		return r.Owner.OwnerID
	case *wire.PeerUpdateRequest:
		return r.Peer.OwnerID
	case *wire.PeerRemoveRequest:
		return r.Owner.OwnerID
	case *wire.SpotUpdateRequest:
		return r.Spot.OwnerID
	case *wire.SpotRemoveRequest:
		return r.Owner.OwnerID
	case *wire.ActorUpdateRequest:
		return r.Actor.OwnerID
	case *wire.ActorRemoveRequest:
		return r.Owner.OwnerID
	case *wire.RouteUpdateRequest:
		return r.Route.OwnerID
	case *wire.RouteRemoveRequest:
		return r.Owner.OwnerID

	case *wire.ObjectReserveRequest:
		return r.Target.Owner.OwnerID
	case *wire.ObjectCommitRequest:
		return r.Target.Owner.OwnerID
	case *wire.ObjectAbortRequest:
		return r.Target.Owner.OwnerID
	case *wire.ObjectCompleteCreationRequest:
		return r.Target.Owner.OwnerID
	case *wire.AuthorityCompareExchangeRequest:
		return mutationActsFor(&r.Mutation)
	case *wire.AggregatePrepareRequest:
		return r.TargetOwner.OwnerID

	case *wire.ActorTransferPrepareRequest:
		return r.RecoveryOwnerID
	case *wire.ActorTransferAdvanceRequest:
		return r.RecoveryOwnerID
	case *wire.ActorTransferTakeOverRequest:
		return r.SuccessorOwnerID
	}
	return ""
}

func mutationActsFor(m *wire.AuthorityMutation) string {
	switch m.Kind {
	case wire.AuthorityRebind:
		return m.TargetOwner.OwnerID
	case wire.AuthorityRestore:
		return m.ExpectedOwner.OwnerID
	}
	return ""
}

// ActsForRow returns the id of the owner that a checked request acts for because of
// the row that it is about; empty is nobody.
//
// Reads: the authority for a compare-exchange, the aggregate for its commit and abort,
// and nothing for any other request. Errors: *kvstore.DataLostError.
func ActsForRow(v kvstore.View, req any) (string, error) {
	switch r := req.(type) {
	case *wire.AuthorityCompareExchangeRequest:
		if mutationActsFor(&r.Mutation) != "" {
			return "", nil
		}
		a, err := findAuthority(v, AuthorityKey(r.Key))
		if a == nil {
			return "", err
		}
		return a.token().OwnerID, nil
	case *wire.AggregateCommitRequest:
		a, err := findAggregate(v, r.Fence)
		if a == nil || a.Request == nil {
			return "", err
		}
		return a.Request.Target.Owner.OwnerID, nil
	case *wire.AggregateAbortRequest:
		a, err := findAggregate(v, r.Fence)
		if !a.is(wire.AggregatePrepared) || kvstore.Instant(a.Deadline) <= v.Now() {
			return "", err
		}
		return a.Request.Target.Owner.OwnerID, nil
	}
	return "", nil
}
