package domain_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// What the machine is about.
var (
	machineIDs   = []string{"a1", "a2", "a3", "r1", "r2", "i1"}
	machineNodes = []string{"n1", "n2"}
)

// authorityMachine does things to a few objects of two owners.
type authorityMachine struct {
	*world
	owners       map[string]wire.OwnerToken // by node
	reservations map[string]reservation     // the latest of objects
	reached      map[string]bool            // what was answered
}

func newAuthorityMachine(t tb, reached map[string]bool) *authorityMachine {
	t.Helper()
	w := newWorld(t)
	m := &authorityMachine{w, map[string]wire.OwnerToken{}, map[string]reservation{}, reached}
	for _, rid := range machineNodes {
		m.owners[rid] = w.claim("owner of " + rid)
		m.publish(rid, wire.IntentNewClaim)
	}
	w.ready("r1", "n1", m.owners["n1"])
	w.member("a1", "r1", "n2", m.owners["n2"])
	return m
}

// attempt runs a write rule against which a row may stand that nobody can read.
func attempt[Q, R any](m *authorityMachine, rule func(*kvstore.Tx, *Q) (*R, error), req *Q, kind func(*R) wire.Kind) {
	m.t.Helper()
	reply, err := try(m.world, rule, req)
	switch {
	case err == nil:
		m.reached[fmt.Sprintf("%T %s", *req, kind(reply))] = true
	case !errors.As(err, new(*kvstore.DataLostError)):
		m.t.Fatal(err)
	}
}

func (m *authorityMachine) reserve(r *rapid.T) {
	id, rid := drawn(r, machineIDs), drawn(r, machineNodes)
	req := m.reserveRequest(id, tgt(wire.RID(rid), m.owners[rid]), func(req *wire.ObjectReserveRequest) {
		req.EndedOwner = drawn(r, []wire.EndedOwner{wire.EndedOwnerKeep, wire.EndedOwnerRelease})
		if drawn(r, []int{0, 0, 1}) == 1 { // an odd vector
			req.Capacity = wire.Capacity{Actors: 1, Spots: 2, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}}
		}
	})
	attempt(m, domain.ReserveObject, req, func(reply *wire.ObjectReserveReply) wire.Kind {
		if reply.Kind == wire.KindReserved {
			m.reservations[id] = reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, req.Target, reply.Creating}
		}
		return reply.Kind
	})
}

// end ends the latest reservation of an object in one of the ways that there are.
func (m *authorityMachine) end(r *rapid.T) {
	if len(m.reservations) == 0 {
		return
	}
	id := drawn(r, slices.Sorted(maps.Keys(m.reservations)))
	res := m.reservations[id]
	if drawn(r, []int{0, 1, 2}) > 0 { // else it is ended once more
		delete(m.reservations, id)
	}
	switch how := drawn(r, []string{"ready", "ready", "abort", "release", "release", "rejected", "rejected"}); {
	case how == "abort":
		attempt(m, domain.AbortObject, res.abort(), func(reply *wire.ObjectAbortReply) wire.Kind { return reply.Kind })
	case how == "release":
		attempt(m, domain.ReleaseEnded, &wire.ObjectReleaseEndedRequest{Key: res.key, ExpectedStoreVersion: res.version},
			func(reply *wire.ObjectReleaseEndedReply) wire.Kind { return reply.Kind })
	case res.key.IsSpot():
		attempt(m, domain.CommitObject, res.commit(), func(reply *wire.ObjectCommitReply) wire.Kind { return reply.Kind })
	default:
		kind := map[string]wire.CompletionKind{"ready": wire.CompletionCreated, "rejected": wire.CompletionRejected}[how]
		terminal := term(uint64(m.view().Revision()))
		terminal.OperationDeadline = wire.Instant(m.clock.Now())
		attempt(m, domain.CompleteCreation, res.complete(kind, terminal),
			func(reply *wire.ObjectCompleteCreationReply) wire.Kind { return reply.Kind })
	}
}

// exchange changes an object in one of the ways that there are.
func (m *authorityMachine) exchange(r *rapid.T) {
	found := map[string]*wire.Authority{}
	for _, id := range machineIDs {
		s, err := domain.ReadAuthority(m.view(), &wire.AuthorityReadRequest{Key: keyOf(id)})
		if err == nil && s.Kind == wire.KindSnapshot {
			found[id] = s
		}
	}
	if len(found) == 0 {
		return
	}
	id := drawn(r, slices.Sorted(maps.Keys(found)))
	s := found[id]
	owner := wire.OwnerToken{OwnerID: s.OwnerID, LeaseGeneration: s.OwnerLeaseGeneration}
	mutation := drawn(r, []func() wire.AuthorityMutation{
		func() wire.AuthorityMutation { return m.joiningPut(r, id) },
		func() wire.AuthorityMutation { return m.joiningPut(r, id) },
		func() wire.AuthorityMutation { return rebindTo(owner, m.owners[string(s.Allocation.Descriptor.RID)]) },
		func() wire.AuthorityMutation { return restoreOf(owner, toPhase(wire.PhaseSteady)) },
		reincarnation, removal,
	})()
	attempt(m, domain.CompareExchangeAuthority, &wire.AuthorityCompareExchangeRequest{
		Key: keyOf(id), ExpectedStoreVersion: s.StoreVersion, Mutation: mutation,
	}, func(reply *wire.AuthorityCompareExchangeReply) wire.Kind {
		m.reached[string(mutation.Kind)+" "+string(reply.Kind)] = true
		return reply.Kind
	})
}

// joiningPut is a put; that of an actor joins a spot as it is.
func (m *authorityMachine) joiningPut(r *rapid.T, id string) wire.AuthorityMutation {
	put := putOf(toPhase(drawn(r, []wire.Phase{"", wire.PhaseSteady, wire.PhaseSteady, wire.PhaseClosing})))
	spotID := drawn(r, []string{"r1", "r2"})
	s, err := domain.ReadAuthority(m.view(), &wire.AuthorityReadRequest{Key: keyOf(spotID)})
	if keyOf(id).IsSpot() || err != nil || s.Kind == wire.KindMissing {
		return put
	}
	kind := drawn(r, []wire.MembershipKind{wire.MembershipUser, wire.MembershipUser, wire.MembershipEntry})
	put.Membership = &wire.Membership{SpotID: spotID, SpotGeneration: s.ObjectGeneration, SpotKind: kind}
	return put
}

// endLease ends the lease of an owner, so that its objects can be released.
func (m *authorityMachine) endLease(r *rapid.T) {
	if drawn(r, []int{0, 1}) == 0 {
		write(m.world, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: m.owners[drawn(r, machineNodes)]})
	}
}

// succeed lets all leases lapse and the owners come back under their next.
func (m *authorityMachine) succeed(*rapid.T) {
	m.clock.Set(m.clock.Now() + int64(ttl))
	m.expire()
	for _, rid := range machineNodes {
		m.owners[rid] = m.claim(m.owners[rid].OwnerID)
		m.publish(rid, wire.IntentTakeover)
	}
}

func (m *authorityMachine) publish(rid string, intent wire.Intent) {
	m.put(intent, node(wire.RID(rid), m.owners[rid], limits(3, 3), typeLimits(2, 0)))
}

func (m *authorityMachine) removeAll(r *rapid.T) {
	rid := drawn(r, machineNodes)
	if drawn(r, []int{0, 1, 2}) > 0 {
		return
	}
	if err := m.update(func(tx *kvstore.Tx) error { return removeAllOnce(tx, m.owners[rid]) }); err == nil {
		m.publish(rid, wire.IntentNewClaim)
	}
}

// damage makes the row of an object illegible, if there is one.
func (m *authorityMachine) damage(r *rapid.T) {
	k := authorityKey(drawn(r, machineIDs))
	if row := m.view().Row(k); row != nil && drawn(r, []int{0, 1, 2, 3}) == 0 {
		m.plant(k, drawn(r, [][]byte{nil, []byte("x"), row.Value[:min(3, len(row.Value))], {0x82, 2, 0xa0}}), 0)
	}
}

// repair takes the rows away that nobody can read.
func (m *authorityMachine) repair(*rapid.T) {
	for _, k := range scanned(m.view()).index[[2]string{"holder", ""}] {
		m.deleteRow(k)
	}
}

func drawn[T any](r *rapid.T, from []T) T { return rapid.SampledFrom(from).Draw(r, "choice") }

// TestIndexesAndSumsFollowFromRows does random things to a few objects. After each the
// store keeps what follows from its rows, and so does one that loads them.
func TestIndexesAndSumsFollowFromRows(t *testing.T) { // 1.1, 1.10
	t.Parallel()
	reached := map[string]bool{}
	rapid.Check(t, func(r *rapid.T) {
		m, once := newAuthorityMachine(r, reached), newDerived()
		r.Repeat(map[string]func(*rapid.T){
			"reserve": m.reserve, "reserve more": m.reserve, "end": m.end, "end more": m.end, "end still more": m.end, "reserve still more": m.reserve,
			"exchange": m.exchange, "exchange more": m.exchange, "exchange still more": m.exchange, "end a lease": m.endLease, "next leases": m.succeed,
			"remove all": m.removeAll, "damage": m.damage, "repair": m.repair,
			"": func(r *rapid.T) { wantDerived(r, m.view(), once) },
		})
		wantDerived(r, m.reloaded(), once)
		for at := range once.index {
			reached["index "+at[0]] = true
		}
	})
	for _, answer := range []string{
		"wire.ObjectReserveRequest reserved", "wire.ObjectCommitRequest committed", "wire.ObjectAbortRequest aborted",
		"wire.ObjectCompleteCreationRequest created", "wire.ObjectCompleteCreationRequest rejected",
		"put stored", "put conflict", "rebindOwnerLease stored", "restore stored", "reincarnate stored", "delete deleted",
		"index holder", "index object", "index member",
	} {
		if !reached[answer] && !testing.Short() { // which makes few histories
			t.Errorf("%s was never reached", answer)
		}
	}
}

// reloaded is the view of a store that loads the rows, in the order of their revisions.
func (w *world) reloaded() kvstore.View {
	v := w.view()
	var rows []*kvstore.Row
	for row := range v.State().All() {
		rows = append(rows, domain.StoredRow(row))
	}
	slices.SortFunc(rows, func(a, b *kvstore.Row) int { return cmp.Compare(a.Revision, b.Revision) })
	state := kvstore.NewState(domain.Schema())
	for _, row := range rows {
		state.Put(&kvstore.Row{Key: row.Key, Value: row.Value, Revision: row.Revision, Expiry: row.Expiry})
	}
	state.Advance(v.Revision())
	return state.View(v.Now())
}
