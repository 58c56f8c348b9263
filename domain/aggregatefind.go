package domain

import (
	"fmt"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// FindAggregate answers which aggregate an object takes part in: the one that locks it,
// else the one that changed it last, as long as that is not settled for the object.
//
// Reads: the authority, the staged rows that name it, their aggregates. Errors:
// *kvstore.DataLostError.
func FindAggregate(v kvstore.View, req *wire.AggregateFindRequest) (*wire.AggregateFindReply, error) {
	reply := &wire.AggregateFindReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}
	a, does, err := partOf(v, AuthorityKey(req.Key))
	if err != nil || a == nil {
		return reply, err
	}
	reply.Kind, reply.OwnerTransition = wire.KindFound, does
	reply.Aggregate = &wire.AggregateStatus{
		Fence: a.Fence, State: a.State, Deadline: a.Deadline, ParticipantCount: a.Request.ParticipantCount,
		TargetDescriptor: a.Request.Target.Node(), TargetOwner: a.Request.Target.Owner,
		TargetDescriptorLifecycleGeneration: a.Request.Target.NodeLifecycleGeneration,
	}
	return reply, nil
}

// partOf returns the aggregate that an authority takes part in and what it does to the
// owner; nil when there is none.
func partOf(v kvstore.View, k kvstore.Key) (*aggregate, wire.OwnerTransition, error) {
	a, err := lockOf(v, k)
	if err != nil {
		return nil, "", err
	}
	if a != nil {
		does, err := transitionOf(v, a, k)
		return a, does, err
	}
	r := v.Row(k)
	if r == nil || r.Over == nil {
		return nil, "", nil
	}
	p := r.Over.(*projection)
	if a, err = p.aggregate(v); err != nil || a == nil {
		return nil, "", err
	}
	return a, p.staged.OwnerTransition, nil
}

// transitionOf is what a prepared aggregate does to a participant's owner, as a page of
// its inventory or the staged participant says.
func transitionOf(v kvstore.View, a *aggregate, k kvstore.Key) (wire.OwnerTransition, error) {
	for r := range v.Index(indexTakesPart, authorityText(k)) {
		if f, err := fenceOf(r.Key); err != nil || f != a.Fence {
			continue
		}
		if r.Key.HasPrefix(participantPrefix) {
			s, err := kvstore.Decoded(r, decodeStaged)
			if err != nil {
				return "", err
			}
			return s.OwnerTransition, nil
		}
		p, err := kvstore.Decoded(r, decodePage)
		if err != nil {
			return "", err
		}
		for i := range p.entries {
			if e := &p.entries[i]; e.AuthorityKey == authorityText(k) {
				return e.OwnerTransition, nil
			}
		}
	}
	return "", &kvstore.DataLostError{Key: k, Cause: fmt.Errorf("locked by the aggregate %q, %d, in whose inventory it is not", a.AggregateID, a.AggregateGeneration)}
}
