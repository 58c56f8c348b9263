package histories_test

import (
	"github.com/zlink/zlink-nats/wire"
)

// said is the answer in a word or two.
func (c *call) said() string {
	switch c.outcome {
	case refused:
		return "refused " + string(c.code)
	case unknown:
		return "unknown"
	}
	switch r := c.reply.(type) {
	case *wire.LeaseClaimReply:
		return string(r.Kind)
	case *wire.LeaseReadReply:
		return string(r.Kind)
	case *wire.LeaseRenewReply:
		return string(r.Kind)
	case *wire.LeaseReleaseReply:
		return string(r.Kind)
	case *wire.UpdateReply:
		return string(r.Status)
	case *wire.RemoveReply:
		return string(r.Status)
	case *wire.Authority:
		return string(r.Kind)
	case *wire.AuthorityCompareExchangeReply:
		return string(c.request.(*wire.AuthorityCompareExchangeRequest).Mutation.Kind) + " " + string(r.Kind)
	case *wire.ObjectReserveReply:
		return string(r.Kind) + " " + string(r.Reason)
	case *wire.ObjectCommitReply:
		return string(r.Kind)
	case *wire.ObjectAbortReply:
		return string(r.Kind)
	case *wire.ObjectCompleteCreationReply:
		return string(r.Kind)
	case *wire.ObjectReleaseEndedReply:
		return string(r.Kind)
	case *wire.ObjectFindReply:
		return string(r.Kind)
	case *wire.AggregateStageReply:
		return string(r.Kind)
	case *wire.AggregatePrepareReply:
		return string(r.Kind)
	case *wire.AggregateCommitReply:
		return string(r.Kind)
	case *wire.AggregateAbortReply:
		return string(r.Kind)
	case *wire.AggregateFindReply:
		return string(r.Kind)
	case *wire.SpotResolveReply:
		return string(r.Kind)
	case *wire.StoreReadReply:
		return string(r.Kind)
	case *wire.StoreWriteReply:
		return string(r.Kind)
	case *wire.OwnerRemoveAllReply:
		if r.Removed > 0 {
			return "some"
		}
		return "none"
	}
	return "answered"
}

// object is the text form of the key of the one object that the request is about; "" when it is about none or several.
func (c *call) object() string {
	switch r := c.request.(type) {
	case *wire.AuthorityReadRequest:
		return r.Key.Text()
	case *wire.AuthorityCompareExchangeRequest:
		return r.Key.Text()
	case *wire.ObjectReserveRequest:
		return r.Key.Text()
	case *wire.ObjectPlaceRequest:
		return r.Key.Text()
	case *wire.ObjectCommitRequest:
		return r.Key.Text()
	case *wire.ObjectAbortRequest:
		return r.Key.Text()
	case *wire.ObjectCompleteCreationRequest:
		return r.Key.Text()
	case *wire.ObjectReleaseEndedRequest:
		return r.Key.Text()
	case *wire.AggregateFindRequest:
		return r.Key.Text()
	case *wire.ObjectFindRequest:
		k := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: r.GlobalID}
		if r.Kind == wire.LookupActor {
			k.Kind = wire.ObjectActor
		}
		return k.Text()
	}
	return ""
}

// tag is the payload that a write would store, which no other request has unless it is a repetition; "" when it stores none.
func (c *call) tag() string {
	switch r := c.request.(type) {
	case *wire.AuthorityCompareExchangeRequest:
		return string(r.Mutation.Payload)
	case *wire.ObjectReserveRequest:
		return string(r.CreatingPayload)
	case *wire.ObjectPlaceRequest:
		return string(r.CreatingPayload)
	case *wire.ObjectCommitRequest:
		return string(r.ReadyPayload)
	case *wire.ObjectCompleteCreationRequest:
		return string(r.Completion.ReadyPayload)
	}
	return ""
}

// snapshot is the record of the object in the answer; nil when the answer has none or says that there is no object.
func (c *call) snapshot() *wire.Authority {
	var a *wire.Authority
	switch r := c.reply.(type) {
	case *wire.Authority:
		a = r
	case *wire.AuthorityCompareExchangeReply:
		if a = &r.Authority; r.Kind == wire.KindConflict {
			a = r.Current
		}
	case *wire.ObjectReserveReply:
		if a = r.Creating; a == nil {
			a = r.Current
		}
	case *wire.ObjectCommitReply:
		a = r.Ready
	case *wire.ObjectCompleteCreationReply:
		a = r.Ready
	}
	if a == nil || a.Kind == wire.KindMissing || a.Key == "" {
		return nil
	}
	return a
}

// removes tells whether the answer says that this call removed its object.
func (c *call) removes() bool {
	switch r := c.reply.(type) {
	case *wire.AuthorityCompareExchangeReply:
		return r.Kind == wire.KindDeleted
	case *wire.ObjectAbortReply:
		return r.Kind == wire.KindAborted
	case *wire.ObjectCompleteCreationReply:
		return r.Kind == wire.KindRejected || r.Kind == wire.KindFailed
	case *wire.ObjectReleaseEndedReply:
		return r.Kind == wire.KindReleased
	}
	return false
}

// missing tells whether the answer says that there is no such object.
func (c *call) missing() bool {
	gone := func(a *wire.Authority) bool { return a != nil && a.Kind == wire.KindMissing }
	switch r := c.reply.(type) {
	case *wire.Authority:
		return gone(r)
	case *wire.AuthorityCompareExchangeReply:
		return gone(r.Current)
	case *wire.ObjectReserveReply:
		return gone(r.Current)
	case *wire.ObjectFindReply:
		return r.Kind == wire.KindMissing
	}
	return false
}

// record is what an answered call says of its object: the record, or nil when it says that there is none; ok is false when it
// says nothing.
func (c *call) record() (key string, a *wire.Authority, ok bool) {
	key, a = c.object(), c.snapshot()
	return key, a, key != "" && (a != nil || c.removes() || c.missing())
}

// leaseOwner is the owner of the lease that the request is about; "" when it is about none.
func leaseOwner(c *call) string {
	switch r := c.request.(type) {
	case *wire.LeaseClaimRequest:
		return r.OwnerID
	case *wire.LeaseReadRequest:
		return r.OwnerID
	case *wire.LeaseRenewRequest:
		return r.Token.OwnerID
	case *wire.LeaseReleaseRequest:
		return r.Token.OwnerID
	}
	return ""
}
