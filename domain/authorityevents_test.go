package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// authorityEvent is the event of an object at the last revision.
func (w *world) authorityEvent(change wire.ChangeType, id string, value *wire.Authority) domain.Event {
	w.t.Helper()
	return w.authorityEventAt(w.view().Revision(), change, id, value)
}

// authorityEventAt is the event of an object. The value is a snapshot that an
// operation answered, as events have it.
func (w *world) authorityEventAt(rev kvstore.Revision, change wire.ChangeType, id string, value *wire.Authority) domain.Event {
	w.t.Helper()
	k := keyOf(id)
	scope := "actor"
	if k.IsSpot() {
		scope = "spot"
	}
	if value != nil {
		v := *value
		v.Kind, v.Live, v.StoreNow = "", nil, 0
		value = &v
	}
	return domain.Event{
		Revision: rev, Kind: wire.EventAuthority, Scope: scope, ID: id, Change: change,
		Value: &wire.AuthorityEvent{
			EventHead: wire.EventHead{
				Revision: wire.Revision(rev), Kind: wire.EventAuthority, Change: change, StoreTime: wire.Instant(w.clock.Now()),
			},
			Key: k.Text(), Value: value,
		},
	}
}

// upserted requires that an object was stored, and nothing else since the last call.
func (w *world) upserted(id string, value *wire.Authority) {
	w.t.Helper()
	want(w.t, w.events(), []domain.Event{w.authorityEvent(wire.ChangeUpserted, id, value)})
	want(w.t, string(value.StoreVersion), w.view().Revision().String())
}

func TestEventsOfASpot(t *testing.T) { // 13, Z-02
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.events()
	r := w.reserved("r1", "n1", a)
	w.upserted("r1", r.creating)
	w.at(3)
	w.upserted("r1", w.makeReady(r))
	for _, m := range []wire.AuthorityMutation{
		putOf(), putOf(), putOf(toPhase(wire.PhaseClosing)), restoreOf(a, toPhase(wire.PhaseSteady)), reincarnation(),
	} {
		w.upserted("r1", w.changed("r1", m))
	}
	next := w.reclaimed(a)
	w.events()
	w.upserted("r1", w.changed("r1", rebindTo(a, next)))
	w.renew(next)
	want(t, w.events(), nil)
	want(t, w.exchange("r1", w.snapshot("r1").StoreVersion, removal()).Kind, wire.KindDeleted)
	want(t, w.events(), []domain.Event{w.authorityEvent(wire.ChangeRemoved, "r1", nil)})
}

func TestEventsOfAnActor(t *testing.T) { // 13: terminals have none
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.ready("r1", "n1", a)
	w.events()
	r := w.reserved("a1", "n1", a)
	w.upserted("a1", r.creating)
	ready := w.makeReady(r)
	events := w.events()
	want(t, events, []domain.Event{w.authorityEventAt(w.view().Revision()-1, wire.ChangeUpserted, "a1", ready)})
	w.upserted("a1", w.changed("a1", putOf(joining(w.membershipIn("r1")))))
	for i, kind := range []wire.CompletionKind{wire.CompletionRejected, wire.CompletionFailed} {
		r := w.reserved("a2", "n1", a)
		w.events()
		want(t, w.complete(r.complete(kind, term(uint64(i+1)))).Kind, wire.Kind(kind))
		want(t, w.events(), []domain.Event{w.authorityEventAt(w.view().Revision()-1, wire.ChangeRemoved, "a2", nil)})
	}
	w.at(310_000)
	w.claim("owner-c")
	w.events()
	w.expire() // the terminals, among others
	for _, e := range w.events() {
		want(t, e.Kind == wire.EventAuthority, false)
	}
}

func TestEventsOfReservationsThatEnd(t *testing.T) { // 13: abort marks have none
	t.Parallel()
	w, a, b := creationWorld(t)
	aborted, ended, replaced := w.reserved("a1", "n1", a), w.reserved("a2", "n1", a), w.reserved("r1", "n1", a)
	w.events()
	want(t, w.abort(aborted.abort()), wire.KindAborted)
	want(t, w.events(), []domain.Event{w.authorityEventAt(w.view().Revision()-1, wire.ChangeRemoved, "a1", nil)})
	w.release(a)
	w.events()
	want(t, w.releaseEnded("a2", ended.version), wire.KindReleased)
	want(t, w.events(), []domain.Event{w.authorityEvent(wire.ChangeRemoved, "a2", nil)})
	again := w.reserved("r1", "n2", b) // E-01: released and reserved in one commit
	w.upserted("r1", again.creating)
	if again.creating.ObjectGeneration <= replaced.creating.ObjectGeneration {
		t.Errorf("generation %d after %d, want it to rise", again.creating.ObjectGeneration, replaced.creating.ObjectGeneration)
	}
}

func TestEventsOfAReplacedSpotAndItsMembers(t *testing.T) { // 13, 6.2
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n1", a)
	w.member("a2", "r1", "n1", a)
	w.release(a)
	w.events()
	before := w.view().Revision()
	r := w.reserved("r1", "n2", b, func(req *wire.ObjectReserveRequest) { req.EndedOwner = wire.EndedOwnerRelease })
	want(t, w.view().Revision(), before+3)
	events := w.events()
	want(t, len(events), 3)
	byID := map[string]domain.Event{}
	for i, e := range events {
		want(t, e.Revision, before+1+kvstore.Revision(i)) // in revision order
		byID[e.ID] = e
	}
	for _, id := range []string{"a1", "a2"} {
		want(t, byID[id], w.authorityEventAt(byID[id].Revision, wire.ChangeRemoved, id, nil))
	}
	want(t, byID["r1"], w.authorityEventAt(byID["r1"].Revision, wire.ChangeUpserted, "r1", r.creating))
	want(t, string(r.version), byID["r1"].Revision.String())
}

func TestRefusalsAndReplaysHaveNoEvents(t *testing.T) { // 13
	t.Parallel()
	w, a, b := creationWorld(t)
	first := w.reserveRequest("r1", tgt("n1", a))
	reply := w.reserve(first)
	w.events()
	w.reserve(first)                                                                    // replay
	w.unreserved(w.reserveRequest("r1", tgt("n2", b)), wire.KindConflict, "reserved")   // refusal
	w.unchanged("r1", reply.Creating.StoreVersion, putOf())                             // refusal
	r := reservation{first.Key, reply.ReservationID, "1", first.Target, reply.Creating} // of another version
	want(t, w.commit(r.commit()).Kind, wire.KindStale)                                  // refusal
	want(t, w.releaseEnded("r1", reply.Creating.StoreVersion), wire.KindStale)          // refusal
	want(t, w.events(), nil)
	r.version = reply.Creating.StoreVersion
	w.makeReady(r)
	w.events()
	want(t, w.commit(r.commit()).Kind, wire.KindAlreadyCommitted) // replay
	want(t, w.events(), nil)
}

func TestEndOfLeaseIsNoEventOfItsAuthorities(t *testing.T) { // 13: an authority gets no expired
	t.Parallel()
	for name, end := range map[string]func(w *world, a wire.OwnerToken){
		"released": func(w *world, a wire.OwnerToken) { w.release(a) },
		"lapsed": func(w *world, _ wire.OwnerToken) {
			w.at(30_000)
			w.expire()
		},
		"claimed over": func(w *world, a wire.OwnerToken) {
			w.at(30_000)
			w.claim(a.OwnerID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.hosts("n1", "owner-a")
			w.ready("r1", "n1", a)
			w.ready("a1", "n1", a)
			w.reserved("r2", "n1", a)
			w.events()
			end(w, a)
			kinds := map[wire.EventKind]bool{}
			for _, e := range w.events() {
				kinds[e.Kind] = true
			}
			want(t, kinds, map[wire.EventKind]bool{wire.EventOwnerLease: true, wire.EventMeshNode: true})
		})
	}
}

func TestRemoveAllRemovesEachAuthority(t *testing.T) { // 13, 10
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	w.ready("r1", "n1", a)
	w.reserved("a1", "n1", a)
	w.remove("n1", a)
	w.events()
	want(t, w.removeAll(a, 100), []int{2})
	rev := w.view().Revision()
	want(t, w.events(), []domain.Event{
		w.authorityEventAt(rev-1, wire.ChangeRemoved, "a1", nil),
		w.authorityEventAt(rev, wire.ChangeRemoved, "r1", nil),
	})
}

func TestDamagedAuthorityHidesNoOtherEvents(t *testing.T) { // 1.5, 13
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.ready("r1", "n1", a)
	w.events()
	for _, k := range []kvstore.Key{authorityKey("r1"), "authority\x00zla1:s:3:r1"} { // the second is no key of an object
		w.plant(k, []byte("x"), 0)
		r := w.reserved("a1", "n1", a)
		events, err := w.eventsAndDamage()
		wantLost(t, err, k)
		want(t, events, []domain.Event{w.authorityEvent(wire.ChangeUpserted, "a1", r.creating)})
		want(t, w.abort(r.abort()), wire.KindAborted)
		w.events()
	}
	w.deleteRow(authorityKey("r1"))
	want(t, w.events(), []domain.Event{w.authorityEvent(wire.ChangeRemoved, "r1", nil)})
}

func TestStampOfAuthorities(t *testing.T) { // 11, P-02
	t.Parallel()
	w, a, b := creationWorld(t)
	stamp := func() wire.Revision { return w.stamp(wire.StampAuthority, "") }
	want(t, stamp(), 0)
	nodes, leases := w.stamp(wire.StampMeshNode, "play"), w.stamp(wire.StampOwnerLease, "")
	moves := func(by wire.Revision, change func()) {
		t.Helper()
		before := w.revision()
		change()
		if got := stamp(); got != before+by {
			t.Errorf("stamp %d at the revision %d, want %d", got, w.revision(), before+by)
		}
	}
	stays := func(do func()) {
		t.Helper()
		before := stamp()
		do()
		want(t, stamp(), before)
	}
	var spot, actor reservation
	moves(1, func() { spot = w.reserved("r1", "n1", a) })
	moves(1, func() { actor = w.reserved("a1", "n1", a) })
	stays(func() { want(t, w.commit(ofVersion(spot, "1").commit()).Kind, wire.KindStale) })
	moves(1, func() { w.makeReady(spot) })
	stays(func() { want(t, w.commit(spot.commit()).Kind, wire.KindAlreadyCommitted) })
	moves(1, func() { w.makeReady(actor) }) // the terminal after it moves nothing
	moves(1, func() { w.changed("a1", putOf()) })
	stays(func() { w.unchanged("a1", "1", putOf()) })
	moves(1, func() { w.changed("a1", restoreOf(a)) })
	moves(1, func() { w.changed("a1", reincarnation()) })
	moves(1, func() { w.exchange("a1", w.snapshot("a1").StoreVersion, removal()) })
	moves(1, func() { spot = w.reserved("r2", "n2", b) })
	moves(1, func() { w.abort(spot.abort()) }) // nor does the abort mark
	stays(func() { want(t, w.abort(spot.abort()), wire.KindAlreadyAborted) })
	want(t, w.stamp(wire.StampMeshNode, "play"), nodes) // usage is no change of a node
	want(t, w.stamp(wire.StampOwnerLease, ""), leases)
	stays(func() { w.renew(a) })
	stays(func() { put(w, "k", "v") })
	next := w.reclaimed(a)
	moves(1, func() { w.changed("r1", rebindTo(a, next)) })
	stays(func() { w.release(next) })
}

// ofVersion is a reservation of another version.
func ofVersion(r reservation, v wire.Version) reservation {
	r.version = v
	return r
}
