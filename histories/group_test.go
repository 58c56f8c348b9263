package histories_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// group is what one aggregate is to do. All requests of its fence agree about it.
type group struct {
	n            int // from 1, in the order in which they were made up
	fence        wire.Fence
	participants []wire.AggregateParticipant
	target       wire.Target
	// inline groups are prepared with their participants, the others are staged.
	inline bool
	// short groups are aborted by the service soon after they were prepared.
	short   bool
	prepare *wire.AggregatePrepareRequest
}

// shortTTL is how long a short group stays prepared.
const shortTTL = wire.Millis(1500)

// aggregates are two to four objects that change together; most of them move to one node.
var aggregateActions = []action{
	{subjects.AggregateStage, 4, true, func(c *caller) any {
		g := c.board.pick(c, "")
		if g == nil {
			g = c.group(false)
		}
		if g == nil || g.inline {
			return nil
		}
		from, to := 0, len(g.participants)
		if c.once(2) {
			from = c.IntN(to)
		}
		return &wire.AggregateStageRequest{Fence: g.fence, StartIndex: uint32(from), Participants: g.participants[from:to]}
	}},
	{subjects.AggregatePrepare, 10, true, func(c *caller) any {
		g := c.board.pick(c, stagedGroup)
		if g == nil || c.once(2) {
			g = c.group(true)
		}
		if g == nil {
			return nil
		}
		return g.prepare
	}},
	{subjects.AggregateCommit, 10, true, func(c *caller) any {
		g := c.board.pick(c, preparedGroup)
		if g == nil {
			return nil
		}
		return &wire.AggregateCommitRequest{Fence: g.fence}
	}},
	{subjects.AggregateAbort, 3, true, func(c *caller) any {
		g := c.board.pick(c, pick(c, preparedGroup, preparedGroup, stagedGroup, endedGroup))
		if g == nil {
			return nil
		}
		return &wire.AggregateAbortRequest{Fence: g.fence}
	}},
	{subjects.AggregateFind, 4, false, func(c *caller) any { return &wire.AggregateFindRequest{Key: pick(c, objects...)} }},
}

// group makes up a group of objects that are believed to be active.
func (c *caller) group(inline bool) *group {
	g := &group{inline: inline, target: c.target(), short: c.once(6)}
	if d := c.board.node(g.target.NodeRID); d == nil || d.State != wire.StateServing && !c.once(8) {
		return nil
	}
	keys := slices.DeleteFunc(slices.Clone(objects), func(k wire.ObjectKey) bool {
		a := c.board.object(k.Text())
		return a == nil || a.Allocation.State != wire.AllocationActive
	})
	if len(keys) < 2 {
		return nil
	}
	c.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:min(len(keys), pick(c, 2, 2, 3, 4))]
	slices.SortFunc(keys, func(a, b wire.ObjectKey) int { return strings.Compare(a.Text(), b.Text()) })
	var sum wire.Capacity
	for _, k := range keys {
		a := c.board.object(k.Text())
		if a == nil { // gone meanwhile
			continue
		}
		p := wire.AggregateParticipant{
			AuthorityKey: k, ExpectedStoreVersion: a.StoreVersion, OwnerTransition: wire.OwnerNew, AuthorityPayload: c.tag(),
			MembershipMutation: wire.Bytes{},
		}
		if t, held := c.board.token(a.OwnerID); held && t == ownerOf(a) && c.once(2) || c.once(12) {
			p.OwnerTransition = wire.OwnerPreserve
		} else {
			_, takes := creation(k)
			sum = plus(sum, takes)
		}
		g.participants = append(g.participants, p)
	}
	if len(g.participants) == 0 {
		return nil
	}
	c.board.enter(g)
	g.prepare = c.preparation(g, sum)
	return g
}

func plus(a, b wire.Capacity) wire.Capacity {
	a.Actors, a.Spots = a.Actors+b.Actors, a.Spots+b.Spots
	if a.Spots > 0 {
		a.SpotType = &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: a.Spots}
	}
	return a
}

func (c *caller) preparation(g *group, sum wire.Capacity) *wire.AggregatePrepareRequest {
	digest := sha256.Sum256([]byte(g.fence.AggregateID))
	r := &wire.AggregatePrepareRequest{
		Fence: g.fence, InventoryDigest: digest[:], TargetDescriptor: g.target.Node(),
		TargetDescriptorLifecycleGeneration: g.target.NodeLifecycleGeneration, Capacity: sum, TargetOwner: g.target.Owner,
		PrepareTTL: leaseTTL,
	}
	if g.short {
		r.PrepareTTL = shortTTL
	}
	if g.inline {
		r.Participants = g.participants
	} else {
		r.ParticipantCount = uint32(len(g.participants))
	}
	return r
}

// participant is what the group does to an object; nil when it takes no part.
func (g *group) participant(key string) *wire.AggregateParticipant {
	for i := range g.participants {
		if g.participants[i].AuthorityKey.Text() == key {
			return &g.participants[i]
		}
	}
	return nil
}

// moves are the objects that get the target's owner.
func (g *group) moves() (s set) {
	for i := range g.participants {
		if p := &g.participants[i]; p.OwnerTransition == wire.OwnerNew {
			s |= 1 << indexOf(p.AuthorityKey.Text())
		}
	}
	return s
}

// all are the objects that take part.
func (g *group) all() (s set) {
	for i := range g.participants {
		s |= 1 << indexOf(g.participants[i].AuthorityKey.Text())
	}
	return s
}

// groupState is what the callers believe of a group.
type groupState string

const (
	stagedGroup   groupState = "staged"
	preparedGroup groupState = "prepared"
	endedGroup    groupState = "ended"
)

// fenceOf is the fence that a request is about; none if it is about none.
func fenceOf(req any) (f wire.Fence, ok bool) {
	switch r := req.(type) {
	case *wire.AggregateStageRequest:
		return r.Fence, true
	case *wire.AggregatePrepareRequest:
		return r.Fence, true
	case *wire.AggregateCommitRequest:
		return r.Fence, true
	case *wire.AggregateAbortRequest:
		return r.Fence, true
	}
	return f, false
}

// groups are those that callers made up.
type groups struct {
	all    map[wire.Fence]*group
	states map[*group]groupState
	recent []*group // that have not ended
}

// enter makes a group known, under a new fence.
func (b *board) enter(g *group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g.n = len(b.groups.all) + 1
	g.fence = wire.Fence{AggregateID: fmt.Sprint("g", g.n), AggregateGeneration: 1}
	b.groups.all[g.fence] = g
	b.groups.states[g] = ""
	if b.groups.recent = append(b.groups.recent, g); len(b.groups.recent) > 12 {
		b.groups.recent = b.groups.recent[1:]
	}
}

// group is that of a request; nil for requests of single objects.
func (b *board) group(req any) *group {
	f, ok := fenceOf(req)
	if !ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.groups.all[f]
}

// pick is one of the latest groups that are believed to be in a state.
func (b *board) pick(c *caller, state groupState) *group {
	b.mu.Lock()
	defer b.mu.Unlock()
	var fit []*group
	for _, g := range b.groups.recent {
		if b.groups.states[g] == state {
			fit = append(fit, g)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[c.IntN(len(fit))]
}

// learnGroup takes in what a call was told of a group.
func (b *board) learnGroup(c *call) {
	next := groupState("")
	switch r := c.reply.(type) {
	case *wire.AggregateStageReply:
		if r.Kind == wire.KindStaged && int(r.Count) == len(c.group.participants) {
			next = stagedGroup
		}
	case *wire.AggregatePrepareReply:
		next = endedGroup
		if r.Kind == wire.KindPrepared || r.Kind == wire.KindAlreadyPrepared {
			next = preparedGroup
		}
	case *wire.AggregateCommitReply:
		if r.Kind != wire.KindStale {
			next = endedGroup
		}
	case *wire.AggregateAbortReply:
		next = endedGroup
	}
	if next != "" && b.groups.states[c.group] != endedGroup {
		b.groups.states[c.group] = next
	}
}
