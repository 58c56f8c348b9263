package domain_test

import (
	"reflect"
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// modelAggregate is section 8. Its objects change when it is committed: settling is
// nothing that the model could see.
type modelAggregate struct {
	state    wire.AggregateState
	deadline wire.Instant
	expires  wire.Instant // 0 until its staged data was deleted
	staged   map[uint32]wire.AggregateParticipant
	request  *wire.AggregatePrepareRequest // nil if it never was prepared
	headroom modelUsage
}

// aggregate returns that of a fence; nil when there is none.
func (m *model) aggregate(f wire.Fence) *modelAggregate {
	a := m.aggregates[f]
	if a != nil && a.expires != 0 && a.expires <= m.now {
		return nil
	}
	return a
}

// participants are what is staged, in the order of indexes, up to the first gap.
func (a *modelAggregate) participants() (all []wire.AggregateParticipant) {
	for i := range uint32(len(a.staged)) {
		p, ok := a.staged[i]
		if !ok {
			break
		}
		all = append(all, p)
	}
	return all
}

// locking returns the aggregate that locks an object: 1.11.
func (m *model) locking(text string) *modelAggregate {
	for _, a := range m.aggregates {
		if a.state != wire.AggregatePrepared {
			continue
		}
		for _, p := range a.staged {
			if modelText(p.AuthorityKey) == text {
				return a
			}
		}
	}
	return nil
}

func (m *model) locked(text string) bool { return m.locking(text) != nil }

// sameParticipant compares what is staged: 8.2.
func sameParticipant(a, b wire.AggregateParticipant) bool {
	if modelText(a.AuthorityKey) != modelText(b.AuthorityKey) {
		return false
	}
	b.AuthorityKey = a.AuthorityKey
	return reflect.DeepEqual(a, b)
}

// collect is 8.2: the aggregate with what is staged now, or false.
func (m *model) collect(f wire.Fence, start uint32, all []wire.AggregateParticipant, always bool) (*modelAggregate, bool) {
	a := m.aggregate(f)
	if a != nil && a.state != wire.AggregateCollecting { // row 1
		return nil, false
	}
	if a == nil {
		a = &modelAggregate{state: wire.AggregateCollecting, staged: make(map[uint32]wire.AggregateParticipant)}
	}
	missing := 0
	for i, p := range all {
		other, ok := a.staged[start+uint32(i)]
		switch {
		case !ok:
			missing++
		case !sameParticipant(p, other): // row 2
			return nil, false
		}
	}
	for i, p := range all {
		if _, ok := a.staged[start+uint32(i)]; !ok {
			a.staged[start+uint32(i)] = p
		}
	}
	if missing > 0 || always {
		a.deadline = m.now + 60_000
		m.aggregates[f] = a
	}
	return a, true
}

// stage is 8.2. How many rows its commits have is not said anywhere.
func (m *model) stage(req *wire.AggregateStageRequest) (*wire.AggregateStageReply, error) {
	a, ok := m.collect(req.Fence, req.StartIndex, req.Participants, true)
	if !ok {
		return &wire.AggregateStageReply{Kind: wire.KindConflict}, nil
	}
	return &wire.AggregateStageReply{Kind: wire.KindStaged, Count: uint32(len(a.staged))}, nil
}

// repeats tells whether an aggregate was prepared with the same request: 8.3.
func (a *modelAggregate) repeats(req *wire.AggregatePrepareRequest) bool {
	was, is := *a.request, *req
	n := uint32(len(a.staged))
	if req.Participants != nil {
		is.ParticipantCount = uint32(len(req.Participants))
		for i, p := range req.Participants {
			if other, ok := a.staged[uint32(i)]; !ok || !sameParticipant(p, other) {
				return false
			}
		}
	}
	was.ParticipantCount = n
	was.Participants, is.Participants, was.PrepareTTL, is.PrepareTTL = nil, nil, 0, 0
	return reflect.DeepEqual(was, is)
}

// prepare is 8.3. stored is what the store had written by then.
func (m *model) prepare(req *wire.AggregatePrepareRequest, stored func()) (*wire.AggregatePrepareReply, error) {
	reply := func(kind wire.Kind) (*wire.AggregatePrepareReply, error) {
		r := &wire.AggregatePrepareReply{Kind: kind}
		if kind == wire.KindPrepared || kind == wire.KindAlreadyPrepared {
			r.Fence = &req.Fence
		}
		return r, nil
	}
	a := m.aggregate(req.Fence)
	if a != nil && a.state != wire.AggregateCollecting {
		switch {
		case a.request != nil && !a.repeats(req): // row 1
			return reply(wire.KindConflict)
		case a.state == wire.AggregatePrepared: // row 2
			return reply(wire.KindAlreadyPrepared)
		case a.state == wire.AggregateCommitted: // row 3
			return reply(wire.KindStale)
		}
		return reply(wire.KindConflict) // row 4
	}
	count := req.ParticipantCount
	if req.Participants != nil {
		before := 0
		if a != nil {
			before = len(a.staged)
		}
		var ok bool
		if a, ok = m.collect(req.Fence, 0, req.Participants, false); !ok { // row 5
			return reply(wire.KindConflict)
		}
		count = uint32(len(req.Participants))
		if len(a.staged) > before {
			stored()
		}
	}
	if a == nil || !a.complete(count) { // row 5
		return reply(wire.KindConflict)
	}
	if !m.liveTarget(req.Target()) || !m.mayPrepare(req, a.participants()) { // rows 6 to 11
		return reply(wire.KindConflict)
	}
	if _, ok := m.take(1); !ok { // row 12
		return reply(wire.KindGenerationExhausted)
	}
	ttl := req.PrepareTTL
	if ttl == 0 {
		ttl = 60_000
	}
	kept := *req
	a.state, a.deadline, a.request = wire.AggregatePrepared, m.now+wire.Instant(ttl), &kept
	_, elsewhere, _ := m.sums(req, a.participants())
	a.headroom = elsewhere
	return reply(wire.KindPrepared)
}

// complete tells whether exactly so many are staged, in key order: row 5.
func (a *modelAggregate) complete(n uint32) bool {
	if uint32(len(a.staged)) != n {
		return false
	}
	before := ""
	for i := range n {
		p, ok := a.staged[i]
		if text := modelText(p.AuthorityKey); !ok || text <= before {
			return false
		}
		before = modelText(p.AuthorityKey)
	}
	return true
}

// mayPrepare is rows 7 to 11 of 8.3, but for the order.
func (m *model) mayPrepare(req *wire.AggregatePrepareRequest, all []wire.AggregateParticipant) bool {
	for _, p := range all {
		o, ok := m.objects[modelText(p.AuthorityKey)]
		if !ok || o.reserved() || m.locked(o.Key) || o.StoreVersion != p.ExpectedStoreVersion { // row 7
			return false
		}
	}
	if !m.holds(all) { // rows 8 and 9
		return false
	}
	sum, elsewhere, ok := m.sums(req, all)
	wanted := modelUsage{types: make(map[string]uint32)}
	wanted.add(req.Capacity)
	if !ok || !reflect.DeepEqual(sum, wanted) { // row 10
		return false
	}
	d := m.nodes[req.TargetDescriptor]
	return m.room(&d.MeshNodeDescriptor, elsewhere.Capacity, nil) && m.roomFor(&d.MeshNodeDescriptor, elsewhere) // row 11
}

// holds is rows 8 and 9 of 8.3, and rows 5 and 6 of 8.6.
func (m *model) holds(all []wire.AggregateParticipant) bool {
	for _, p := range all {
		o := m.objects[modelText(p.AuthorityKey)]
		if p.OwnerTransition == wire.OwnerPreserve && !m.live(o.token()) {
			return false
		}
	}
	for _, p := range all {
		if o := m.objects[modelText(p.AuthorityKey)]; !m.joinsIn(all, o.Membership, p.Membership) {
			return false
		}
	}
	return true
}

// joinsIn is 5.4 in an aggregate whose owners are all live.
func (m *model) joinsIn(all []wire.AggregateParticipant, had, wanted *wire.Membership) bool {
	if wanted == nil || wanted.SpotKind == wire.MembershipEntry || (had != nil && *had == *wanted) {
		return true
	}
	text := modelText(wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: wanted.SpotID})
	if !slices.ContainsFunc(all, func(p wire.AggregateParticipant) bool { return modelText(p.AuthorityKey) == text }) {
		return m.accepts(had, wanted)
	}
	spot := m.objects[text]
	return spot.Allocation.ObjectKind == wire.ObjectUserSpot && spot.ObjectGeneration == wanted.SpotGeneration &&
		spot.Phase == wire.PhaseSteady
}

// sums is 8.4: that of all newOwner participants, and that of those on other nodes; false
// when there is none.
func (m *model) sums(req *wire.AggregatePrepareRequest, all []wire.AggregateParticipant) (sum, elsewhere modelUsage, ok bool) {
	sum.types, elsewhere.types = make(map[string]uint32), make(map[string]uint32)
	for _, p := range all {
		if p.OwnerTransition == wire.OwnerPreserve {
			continue
		}
		o := m.objects[modelText(p.AuthorityKey)]
		sum.add(o.Allocation.Capacity)
		if o.Allocation.Descriptor != req.TargetDescriptor {
			elsewhere.add(o.Allocation.Capacity)
		}
	}
	return sum, elsewhere, len(sum.types) <= 1
}

// roomFor is 1.10 for the types of a sum.
func (m *model) roomFor(d *wire.MeshNodeDescriptor, u modelUsage) bool {
	for name, n := range u.types {
		kind, stableType, _ := strings.Cut(name, " ")
		c := wire.Capacity{SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotObjectKind(kind), StableType: stableType, Count: n}}
		if !m.room(d, c, nil) {
			return false
		}
	}
	return true
}

// commitAggregate is 8.6.
func (m *model) commitAggregate(req *wire.AggregateCommitRequest) (*wire.AggregateCommitReply, error) {
	a := m.aggregate(req.Fence)
	switch {
	case a == nil || a.state == wire.AggregateCollecting || a.state == wire.AggregateAborted: // row 1
		return &wire.AggregateCommitReply{Kind: wire.KindStale}, nil
	case a.state == wire.AggregateCommitted: // row 2
		return &wire.AggregateCommitReply{Kind: wire.KindAlreadyCommitted}, nil
	case !m.liveTarget(a.request.Target()) || !m.holds(a.participants()): // rows 4 to 6
		return &wire.AggregateCommitReply{Kind: wire.KindStale}, nil
	}
	c, ok := m.take(1)
	if !ok { // row 7
		return &wire.AggregateCommitReply{Kind: wire.KindGenerationExhausted}, nil
	}
	a.state, a.deadline = wire.AggregateCommitted, 0
	for _, p := range a.staged {
		m.move(p, a.request, c)
	}
	return &wire.AggregateCommitReply{Kind: wire.KindCommitted}, nil
}

// move is 8.5.
func (m *model) move(p wire.AggregateParticipant, req *wire.AggregatePrepareRequest, c kvstore.Revision) {
	o := m.objects[modelText(p.AuthorityKey)]
	o.Payload, o.StoreVersion = p.AuthorityPayload, modelVersion(c)
	if p.Membership != nil {
		o.Membership = p.Membership
	}
	if p.OwnerTransition == wire.OwnerNew {
		at := *o.Allocation
		at.Descriptor, at.DescriptorLifecycleGeneration = req.TargetDescriptor, req.TargetDescriptorLifecycleGeneration
		o.Allocation, o.AuthorityOwnerGeneration = &at, wire.Generation(c)
		o.OwnerID, o.OwnerLeaseGeneration = req.TargetOwner.OwnerID, req.TargetOwner.LeaseGeneration
	}
	m.objects[o.Key] = o
}

// abortAggregate is 8.7.
func (m *model) abortAggregate(req *wire.AggregateAbortRequest) (*wire.AggregateAbortReply, error) {
	a := m.aggregate(req.Fence)
	switch {
	case a == nil || a.state == wire.AggregateCommitted: // row 1
		return &wire.AggregateAbortReply{Kind: wire.KindStale}, nil
	case a.state == wire.AggregateAborted: // row 2
		return &wire.AggregateAbortReply{Kind: wire.KindAlreadyAborted}, nil
	}
	if _, ok := m.take(1); !ok {
		return nil, kvstore.ErrExhausted
	}
	a.state, a.deadline = wire.AggregateAborted, 0 // row 3
	return &wire.AggregateAbortReply{Kind: wire.KindAborted}, nil
}

// work is what follows an aggregate that ended or is overdue: 8.1, 8.6. What is staged
// for one that is committed stays until its events are out.
func (m *model) work(f wire.Fence, out bool) {
	a := m.aggregate(f)
	if a == nil || a.expires != 0 {
		return
	}
	if a.deadline != 0 {
		if a.deadline > m.now {
			return
		}
		a.state, a.deadline = wire.AggregateAborted, 0
	}
	if out || a.state == wire.AggregateAborted {
		a.expires = m.now + 86_400_000
		if a.state == wire.AggregateAborted && a.request == nil {
			a.staged = make(map[uint32]wire.AggregateParticipant)
		}
	}
}

// addHeadroom adds what aggregates reserve of a node: 1.10.
func (m *model) addHeadroom(u *modelUsage, node wire.DescriptorKey) {
	for _, a := range m.aggregates {
		if a.state == wire.AggregatePrepared && a.request.TargetDescriptor == node {
			u.Actors += a.headroom.Actors
			u.Spots += a.headroom.Spots
			for name, n := range a.headroom.types {
				u.types[name] += n
			}
		}
	}
}

// findAggregate tells which aggregate locks an object, as far as the model knows.
func (m *model) findAggregate(req *wire.AggregateFindRequest) *wire.AggregateFindReply {
	text := modelText(req.Key)
	for f, a := range m.aggregates {
		if a != m.locking(text) {
			continue
		}
		reply := &wire.AggregateFindReply{Kind: wire.KindFound, StoreNow: m.now, Aggregate: &wire.AggregateStatus{
			Fence: f, State: a.state, Deadline: a.deadline, ParticipantCount: uint32(len(a.staged)),
			TargetDescriptor: a.request.TargetDescriptor, TargetOwner: a.request.TargetOwner,
			TargetDescriptorLifecycleGeneration: a.request.TargetDescriptorLifecycleGeneration,
		}}
		for _, p := range a.staged {
			if modelText(p.AuthorityKey) == text {
				reply.OwnerTransition = p.OwnerTransition
			}
		}
		return reply
	}
	return nil
}
