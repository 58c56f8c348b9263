package histories_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// spots are the location rows that callers write; peers, actors and routes follow the same rule.
var spots = []string{"s1", "s2"}

var rowActions = []action{
	{subjects.SpotUpdate, 5, true, func(c *caller) any {
		id := pick(c, spots...)
		return &wire.SpotUpdateRequest{
			Intent: pick(c, wire.IntentNewClaim, wire.IntentRenew, wire.IntentRenew, wire.IntentTakeover),
			Spot: wire.Spot{
				MeshName: mesh, SpotID: id, SpotGeneration: 1, SpotType: "room", OwnerNodeRID: "n1", SpotKind: wire.SpotKindUser,
				OwnerNodeGeneration: wire.Generation(c.id()), OwnerToken: c.token(),
			},
		}
	}},
	{subjects.SpotRemove, 1, false, func(c *caller) any {
		return &wire.SpotRemoveRequest{MeshName: mesh, SpotID: pick(c, spots...), Owner: c.token()}
	}},
	{subjects.SpotResolve, 4, false, func(c *caller) any { return &wire.SpotResolveRequest{MeshName: mesh, SpotID: pick(c, spots...)} }},
}

// rowID is the location row that a request is about; "" when it is about none.
func rowID(req any) string {
	switch r := req.(type) {
	case *wire.SpotUpdateRequest:
		return r.Spot.SpotID
	case *wire.SpotRemoveRequest:
		return r.SpotID
	case *wire.SpotResolveRequest:
		return r.SpotID
	}
	return ""
}

// location is one location row in the model. Whether owners are live is judged by [chronicle].
type location struct {
	content    string // "": there is none
	owner      wire.OwnerToken
	generation wire.Generation
	floor      wire.Generation // no generation up to this one begins any more
}

var locationModel = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{location{}} },
	Step:              func(state, input, _ any) []any { return anys(state.(location).step(input.(*call))) },
	DescribeOperation: func(input, _ any) string { return input.(*call).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// spotContent is a spot without what the service adds.
func spotContent(s *wire.Spot) string {
	c := *s
	c.Generation, c.UpdatedAt = 0, 0
	return text(&c)
}

// step are the states in which a row can be after a call that was answered as it was; there is none if it cannot be.
func (l location) step(c *call) []location {
	if c.outcome == unknown {
		return append(l.mayHave(c), l)
	}
	switch r := c.request.(type) {
	case *wire.SpotUpdateRequest:
		return l.update(r, c.reply.(*wire.UpdateReply))
	case *wire.SpotRemoveRequest:
		mine := l.content != "" && l.owner == r.Owner
		if c.reply.(*wire.RemoveReply).Status == wire.StatusStored {
			return l.gone().only(mine)
		}
		return l.only(!mine)
	case *wire.SpotResolveRequest:
		reply := c.reply.(*wire.SpotResolveReply)
		if reply.Kind == wire.KindMissing {
			return l.only(l.content == "")
		}
		return l.only(l.content == spotContent(&reply.Spot.Spot) && l.generation == reply.Spot.Generation)
	}
	return l.gone().only(l.content != "")
}

// update is the table of section 4, liveness aside.
func (l location) update(r *wire.SpotUpdateRequest, reply *wire.UpdateReply) []location {
	same := l.content != "" && l.owner == r.Spot.OwnerToken
	switch {
	case reply.Status == wire.StatusRejectedConflict:
		return l.only(true)
	case reply.Status == wire.StatusIgnoredStale:
		return l.only(r.Intent == wire.IntentRenew && l.content != "" && !same)
	case same && l.content == spotContent(&r.Spot):
		return l.only(l.generation == reply.Generation)
	}
	return l.written(&r.Spot, r.Intent, reply.Generation)
}

func (l location) written(s *wire.Spot, intent wire.Intent, g wire.Generation) []location {
	same := l.content != "" && l.owner == s.OwnerToken
	next := location{spotContent(s), s.OwnerToken, g, max(l.floor, g)}
	if intent == wire.IntentRenew {
		return next.only(same && g == l.generation)
	}
	return next.only(g > l.floor)
}

// mayHave is what a call of unknown outcome may have done, by the changes that nobody else was told of.
func (l location) mayHave(c *call) (states []location) {
	for _, e := range c.maybe {
		r, ok := c.request.(*wire.SpotUpdateRequest)
		switch {
		case ok && e.spot != nil:
			states = append(states, l.written(&r.Spot, r.Intent, e.spot.Generation)...)
		case !ok && e.spot == nil:
			states = append(states, l.gone().only(l.content != "")...)
		}
	}
	return states
}

func (l location) gone() location { return location{floor: l.floor} }

func (l location) only(holds bool) []location {
	if holds {
		return []location{l}
	}
	return nil
}

// ofRow is the call as one on a location row; nil when it is not.
func (c *call) ofRow(id string) *call {
	if rowID(c.request) == id {
		return c
	}
	if c.op != subjects.OwnerRemoveAll {
		return nil
	}
	one := *c
	one.maybe, one.removed = nil, nil
	of := row{wire.EventSpot, id}
	for _, e := range c.maybe {
		if e.row() == of {
			one.maybe = append(one.maybe, e)
		}
	}
	for _, e := range c.removed {
		if e.row() == of {
			one.removed = append(one.removed, e)
		}
	}
	if len(one.maybe)+len(one.removed) == 0 {
		return nil
	}
	return &one
}

// updateSpot is the table of section 4.
func (s *chronicle) updateSpot(r *wire.SpotUpdateRequest, made bool) []string {
	old := s.spots[r.Spot.SpotID]
	same := old != nil && old.OwnerToken == r.Spot.OwnerToken
	switch {
	case !s.live(r.Spot.OwnerToken):
		return []string{"rejectedConflict"}
	case same && spotContent(old) == spotContent(&r.Spot):
		return either(made, "nothing written", "stored")
	case r.Intent == wire.IntentRenew && old == nil:
		return []string{"rejectedConflict"}
	case r.Intent == wire.IntentRenew && !same:
		return []string{"ignoredStale"}
	case r.Intent == wire.IntentNewClaim && old != nil && s.live(old.OwnerToken):
		return []string{"rejectedConflict"}
	}
	return []string{"stored"}
}

// judgeResolve is section 4: the row as it is, and whether its owner is live.
func (s *chronicle) judgeResolve(c *call) error {
	have, reply := s.spots[rowID(c.request)], c.reply.(*wire.SpotResolveReply)
	if have == nil || reply.Spot == nil {
		return unless(have == nil && reply.Kind == wire.KindMissing, "the row is %s", text(have))
	}
	return unless(reply.Spot.Spot == *have && reply.Spot.Live == s.live(have.OwnerToken), "the row is %s", text(have))
}
