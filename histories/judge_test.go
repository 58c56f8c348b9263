package histories_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/wire"
)

// judge tells what is wrong with an answer in this state: that it is right in none of those that it can be.
func (s *chronicle) judge(c *call) (first error) {
	for held := range s.alternatives() {
		s.locks.held = held
		err := s.judgeHolding(c)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (s *chronicle) judgeHolding(c *call) error {
	switch r := c.request.(type) {
	case *wire.LeaseReadRequest:
		return s.judgeLeaseRead(r, c.reply.(*wire.LeaseReadReply))
	case *wire.AuthorityReadRequest:
		return unless(s.shows(c), "the object is %s", text(s.objects[c.object()]))
	case *wire.ObjectFindRequest:
		return s.judgeFind(c)
	case *wire.AuthorityListRequest:
		return s.judgeObjects(c.reply.(*wire.AuthorityListReply))
	case *wire.AggregateFindRequest:
		return s.judgeLock(c)
	case *wire.SpotResolveRequest:
		return s.judgeResolve(c)
	case *wire.MeshNodeListRequest:
		return s.judgeNodes(c.reply.(*wire.MeshNodeListReply))
	}
	want := s.answers(c)
	if got := c.said(); len(want) > 0 && !slices.Contains(want, got) {
		return fmt.Errorf("answered %q, want %q", got, want)
	}
	if a := c.snapshot(); c.made == nil && (a != nil || c.missing()) && !s.shows(c) {
		return fmt.Errorf("the object is %s", text(s.objects[c.object()]))
	}
	return nil
}

func unless(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// answers are those that the rules give; none means that the rules need what no event tells, and the model of the thing decides.
func (s *chronicle) answers(c *call) []string {
	switch r := c.request.(type) {
	case *wire.LeaseClaimRequest:
		return s.claim(r, c)
	case *wire.LeaseRenewRequest:
		return either(s.live(r.Token), "renewed", "stale")
	case *wire.LeaseReleaseRequest:
		return either(s.live(r.Token), "released", "stale")
	case *wire.MeshNodeUpdateRequest:
		return s.update(r, c.made != nil)
	case *wire.MeshNodeRemoveRequest:
		d := s.nodes[r.RID]
		return either(d != nil && d.OwnerToken == r.Owner, "stored", "ignoredStale")
	case *wire.SpotUpdateRequest:
		return s.updateSpot(r, c.made != nil)
	case *wire.SpotRemoveRequest:
		d := s.spots[r.SpotID]
		return either(d != nil && d.OwnerToken == r.Owner, "stored", "ignoredStale")
	case *wire.OwnerRemoveAllRequest:
		return either(s.live(r.Owner) && s.rows(r.Owner) == len(c.removed) && len(c.removed) > 0, "some", s.noneOr(r.Owner))
	case *wire.ObjectReserveRequest, *wire.ObjectPlaceRequest:
		return s.create(r, c)
	case *wire.ObjectCommitRequest:
		return s.commit(r)
	case *wire.ObjectAbortRequest:
		return s.abort(r)
	case *wire.ObjectCompleteCreationRequest:
		if s.pending(c.object(), r.ReservationID, r.ExpectedStoreVersion, r.Target) && s.serves(r.Target) {
			return []string{string(r.Completion.Kind), "alreadyCompleted"}
		}
		return []string{"stale", "alreadyCompleted"}
	case *wire.ObjectReleaseEndedRequest:
		e := s.objects[c.object()]
		return either(e != nil && e.Allocation.State == wire.AllocationReserved && e.StoreVersion == r.ExpectedStoreVersion && s.ended(e),
			"released", "stale")
	case *wire.AuthorityCompareExchangeRequest:
		return s.exchange(r)
	case *wire.AggregatePrepareRequest:
		return s.prepare(c)
	case *wire.AggregateCommitRequest:
		return s.commitGroup(c)
	}
	return nil
}

func either(holds bool, this, other string) []string {
	if holds {
		return []string{this}
	}
	return []string{other}
}

// claim is 2: a claim that was repeated is answered as the first was.
func (s *chronicle) claim(r *wire.LeaseClaimRequest, c *call) []string {
	t, held := s.leases[r.OwnerID]
	reply := c.reply.(*wire.LeaseClaimReply)
	if held && c.made == nil && reply.Token != nil && *reply.Token == t {
		return []string{"claimed"}
	}
	return either(held, "conflict", "claimed")
}

func (s *chronicle) judgeLeaseRead(r *wire.LeaseReadRequest, reply *wire.LeaseReadReply) error {
	t, held := s.leases[r.OwnerID]
	return unless(held == (reply.Kind == wire.KindFound) && (!held || *reply.Token == t), "the lease is %+v", t)
}

// update is 3.2.
func (s *chronicle) update(r *wire.MeshNodeUpdateRequest, made bool) []string {
	d, row := &r.Descriptor, s.nodes[r.Descriptor.RID]
	mine := row != nil && row.OwnerToken == d.OwnerToken && row.LifecycleGeneration == d.LifecycleGeneration
	switch {
	case !s.live(d.OwnerToken):
		return []string{"rejectedConflict"}
	case row != nil && content(row) == content(d):
		return either(made, "nothing written", "stored")
	case r.Intent == wire.IntentRenew && row == nil:
		return []string{"rejectedConflict"}
	case r.Intent == wire.IntentRenew:
		return either(mine && d.DescriptorRevision > row.DescriptorRevision && constant(d) == constant(row), "stored", "ignoredStale")
	case r.Intent == wire.IntentNewClaim && row != nil && s.live(row.OwnerToken):
		return []string{"ignoredStale"}
	}
	return []string{"stored"}
}

// constant is what a renewal may not change of what these descriptors differ in.
func constant(d *wire.MeshNodeDescriptor) string {
	c := *d
	c.DescriptorRevision, c.State = 0, ""
	return content(&c)
}

// rows counts what owner.remove-all removes. 10
func (s *chronicle) rows(owner wire.OwnerToken) (n int) {
	for key, e := range s.objects {
		if ownerOf(e.Authority) == owner && s.locker(key) == nil {
			n++
		}
	}
	for _, d := range s.nodes {
		if d.OwnerID == owner.OwnerID && d.LeaseGeneration <= owner.LeaseGeneration {
			n++
		}
	}
	for _, d := range s.spots {
		if d.OwnerID == owner.OwnerID && d.LeaseGeneration <= owner.LeaseGeneration {
			n++
		}
	}
	return n
}

func (s *chronicle) noneOr(owner wire.OwnerToken) string {
	if n := s.rows(owner); s.live(owner) && n > 0 {
		return fmt.Sprintf("some, %d", n)
	}
	return "none"
}

// create is 6.1 and 6.6.
func (s *chronicle) create(req any, c *call) []string {
	r, e := creationOf(req), s.objects[c.object()]
	switch {
	case e == nil:
	case e.Allocation.State == wire.AllocationReserved && s.ended(e):
	case e.Allocation.State == wire.AllocationReserved:
		same := e.reservation == r.reservation && string(e.Payload) == r.payload && (r.target == nil || targetOf(e.Authority) == *r.target)
		return either(same && c.made == nil, "reserved ", "conflict reserved")
	case r.ended != wire.EndedOwnerRelease || !s.ended(e):
		return []string{"alreadyExists "}
	case s.locker(c.object()) != nil:
		return []string{"unavailable inAggregate"}
	case e.Phase != wire.PhaseSteady:
		return []string{"unavailable notSteady"}
	}
	if r.target == nil {
		return s.place(c)
	}
	switch {
	case !s.serves(*r.target):
		return []string{"conflict targetUnavailable"}
	case !s.room(r.target.NodeRID, c.object()):
		return []string{"placementCapacityExhausted "}
	}
	return either(c.made != nil, "reserved ", "another reservation")
}

// place is 6.6 rows 9 to 12.
func (s *chronicle) place(c *call) []string {
	qualified, free := 0, false
	for rid, d := range s.nodes {
		if d.State != wire.StateServing || !s.live(d.OwnerToken) {
			continue
		}
		qualified++
		room := s.room(rid, c.object())
		free = free || room
		if a := c.snapshot(); c.made != nil && a.Allocation.Descriptor.RID == rid && room &&
			s.serves(targetOf(a)) {
			return []string{"reserved "}
		}
	}
	switch {
	case qualified == 0:
		return []string{"noTarget "}
	case !free:
		return []string{"placementCapacityExhausted "}
	}
	return []string{"reserved on a node with room"}
}

// pending tells whether an object is reserved as a request that ends the reservation says.
func (s *chronicle) pending(key, reservation string, v wire.Version, t wire.Target) bool {
	e := s.objects[key]
	return e != nil && e.Allocation.State == wire.AllocationReserved && e.reservation == reservation && e.StoreVersion == v &&
		targetOf(e.Authority) == t
}

// commit is 6.3.
func (s *chronicle) commit(r *wire.ObjectCommitRequest) []string {
	e := s.objects[r.Key.Text()]
	if e != nil && e.Allocation.State == wire.AllocationActive && e.reservation == r.ReservationID {
		return []string{"alreadyCommitted"}
	}
	return either(s.pending(r.Key.Text(), r.ReservationID, r.ExpectedStoreVersion, r.Target) && s.serves(r.Target), "committed", "stale")
}

// abort is 6.4. Abort marks leave no event.
func (s *chronicle) abort(r *wire.ObjectAbortRequest) []string {
	e := s.objects[r.Key.Text()]
	if e == nil || e.Allocation.State != wire.AllocationReserved || e.reservation != r.ReservationID {
		return []string{"alreadyAborted", "stale"}
	}
	return either(s.pending(r.Key.Text(), r.ReservationID, r.ExpectedStoreVersion, r.Target) && s.live(r.Target.Owner), "aborted", "stale")
}

// exchange is 5.3.
func (s *chronicle) exchange(r *wire.AuthorityCompareExchangeRequest) []string {
	e, m := s.objects[r.Key.Text()], &r.Mutation
	kind := string(m.Kind)
	if e == nil || e.Allocation.State != wire.AllocationActive || e.StoreVersion != r.ExpectedStoreVersion ||
		s.locker(r.Key.Text()) != nil || m.ExpectedOwner != nil && *m.ExpectedOwner != ownerOf(e.Authority) {
		return []string{kind + " conflict"}
	}
	switch m.Kind {
	case wire.AuthorityRestore:
		return []string{kind + " stored"}
	case wire.AuthorityRebind:
		t := targetOf(e.Authority)
		t.Owner = *m.TargetOwner
		return either(s.serves(t), kind+" stored", kind+" conflict")
	case wire.AuthorityDelete:
		return either(s.live(ownerOf(e.Authority)), kind+" deleted", kind+" conflict")
	}
	return either(s.live(ownerOf(e.Authority)), kind+" stored", kind+" conflict")
}

// judgeFind is 6.8.
func (s *chronicle) judgeFind(c *call) error {
	e, reply := s.objects[c.object()], c.reply.(*wire.ObjectFindReply)
	if e == nil || reply.Entry == nil {
		return unless(e == nil && c.missing(), "the object is %s", text(e))
	}
	state := wire.EntryCreating
	if e.Allocation.State == wire.AllocationActive {
		state = wire.EntryUnavailable
		if s.live(ownerOf(e.Authority)) {
			state = wire.EntryReady
		}
	}
	got := reply.Entry
	return unless(got.State == state && got.ObjectGeneration == e.ObjectGeneration && got.NodeRID == e.Allocation.Descriptor.RID,
		"the object is %s and %s", state, text(e))
}

// judgeObjects is 5.1: all objects, in key order.
func (s *chronicle) judgeObjects(reply *wire.AuthorityListReply) error {
	if len(reply.Items) != len(s.objects) || reply.NextCursor != "" {
		return fmt.Errorf("%d objects are listed, there are %d", len(reply.Items), len(s.objects))
	}
	for i := range reply.Items {
		a := &reply.Items[i].Snapshot
		e := s.objects[reply.Items[i].Key]
		if e == nil || !sameRecord(a, e.Authority) || *a.Live != s.live(ownerOf(a)) || i > 0 && reply.Items[i].Key <= reply.Items[i-1].Key {
			return errors.New("the object is " + text(e))
		}
	}
	return nil
}

// judgeNodes is 3.4: all descriptors, with what is in use of the nodes.
func (s *chronicle) judgeNodes(reply *wire.MeshNodeListReply) error {
	if len(reply.Items) != len(s.nodes) {
		return fmt.Errorf("%d nodes are listed, there are %d", len(reply.Items), len(s.nodes))
	}
	for i := range reply.Items {
		if err := s.judgeNode(&reply.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *chronicle) judgeNode(n *wire.MeshNodeItem) error {
	d := s.nodes[n.RID]
	if d == nil || content(d) != content(&n.MeshNodeDescriptor) || n.Live != s.live(d.OwnerToken) {
		return errors.New("the node is " + text(d))
	}
	p := n.PopulationCapacity
	active, reserved := s.usage(n.RID, "")
	return unless(active == [2]uint32{p.Actors.Active, p.Spots.Active} && reserved == [2]uint32{p.Actors.Reserved, p.Spots.Reserved},
		"%d active and %d reserved objects are on %s, listed is %+v", active, reserved, n.RID, p)
}
