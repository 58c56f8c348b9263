package histories_test

import (
	"github.com/zlink/zlink-nats/wire"
)

// exchange is 5.3, liveness aside.
func (o object) exchange(r *wire.AuthorityCompareExchangeRequest, c *call) []object {
	reply := c.reply.(*wire.AuthorityCompareExchangeReply)
	m := &r.Mutation
	fits := o.fits(r)
	switch reply.Kind {
	case wire.KindConflict:
		// A restore needs nobody to be live.
		return o.only(o.shows(c) && !(fits && m.Kind == wire.AuthorityRestore))
	case wire.KindDeleted:
		return o.gone().only(fits && m.Kind == wire.AuthorityDelete && reply.StoreVersion == r.ExpectedStoreVersion)
	case wire.KindStored:
		if fits && m.Kind != wire.AuthorityDelete {
			return o.exchanged(m, c.snapshot())
		}
	}
	return nil
}

// fits tells whether a mutation may be made, liveness aside.
func (o object) fits(r *wire.AuthorityCompareExchangeRequest) bool {
	m := &r.Mutation
	return o.state == wire.AllocationActive && o.lock == 0 && o.version == versionOf(r.ExpectedStoreVersion) &&
		(m.ExpectedOwner == nil || *m.ExpectedOwner == o.owner)
}

// exchanged is the object with a mutation, which must be the record that was stored.
func (o object) exchanged(m *wire.AuthorityMutation, a *wire.Authority) []object {
	if a == nil {
		return nil
	}
	want := o
	want.payload, want.version = string(m.Payload), versionOf(a.StoreVersion)
	if m.Phase != "" {
		want.phase = m.Phase
	}
	if m.Membership != nil {
		want.membership = text(m.Membership)
	}
	switch m.Kind {
	case wire.AuthorityRebind:
		want.owner = *m.TargetOwner
	case wire.AuthorityReincarnate:
		want.reservation = ""
		want.generation, want.ownership = wire.Generation(want.version), wire.Generation(want.version)
	}
	if !want.is(a) {
		return nil
	}
	return o.become(a, want.reservation)
}

// mayHave is what a call of unknown outcome may have done, by the changes that nobody was told of.
func (o object) mayHave(c *call) (states []object) {
	for _, e := range c.maybe {
		if e.revision > o.floor {
			states = append(states, o.didAt(c, e)...)
		}
	}
	return states
}

// didAt is the object after a call that made a change.
func (o object) didAt(c *call, e *event) []object {
	next := o
	next.floor = e.revision
	switch r := c.request.(type) {
	case *wire.ObjectReserveRequest, *wire.ObjectPlaceRequest:
		return o.reserved(creationOf(r), e.object)
	case *wire.ObjectCommitRequest:
		if o.reservedAs(r.ReservationID, r.ExpectedStoreVersion, &r.Target) {
			return o.made(e.object, r.ReadyPayload)
		}
	case *wire.ObjectCompleteCreationRequest:
		if o.reservedAs(r.ReservationID, r.ExpectedStoreVersion, &r.Target) {
			return o.completed(r, e.object)
		}
	case *wire.AuthorityCompareExchangeRequest:
		if !o.fits(r) {
			return nil
		}
		if r.Mutation.Kind == wire.AuthorityDelete {
			return next.gone().only(true)
		}
		return o.exchanged(&r.Mutation, e.object)
	case *wire.ObjectAbortRequest:
		return next.abort(r, wire.KindAborted)
	case *wire.ObjectReleaseEndedRequest:
		return next.gone().only(o.state == wire.AllocationReserved && o.version == versionOf(r.ExpectedStoreVersion))
	case *wire.OwnerRemoveAllRequest:
		return next.gone().only(o.state != "" && o.owner == r.Owner && o.lock == 0)
	}
	return nil
}
