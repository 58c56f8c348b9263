package domain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// spoiled makes values that cannot be decoded: such as nobody can tell the place of,
// and one that has its place in the indexes.
func spoiled() map[string]func([]byte) []byte {
	all := maps.Clone(unreadable)
	all["trailing byte"] = func(v []byte) []byte { return append(v, 0) }
	return all
}

// spoilRow replaces a row by what makes of it, with the expiry that it has.
func (w *world) spoilRow(k kvstore.Key, makes func([]byte) []byte) {
	w.t.Helper()
	r := w.view().Row(k)
	if r == nil {
		w.t.Fatalf("no row %q", k)
	}
	w.plant(k, makes(slices.Clone(r.Value)), r.Expiry)
}

// objectRules are requests about the objects of objectsWorld, by the operation and
// what it does.
type objectRules map[string]func(tx *kvstore.Tx) error

// rule is a request to a write rule.
func rule[Q, R any](rule func(*kvstore.Tx, *Q) (*R, error), req *Q) func(*kvstore.Tx) error {
	return func(tx *kvstore.Tx) error {
		_, err := rule(tx, req)
		return err
	}
}

// look is a request to a read rule.
func look[Q, R any](rule func(kvstore.View, *Q) (*R, error), req *Q) func(*kvstore.Tx) error {
	return func(tx *kvstore.Tx) error {
		_, err := rule(tx.View, req)
		return err
	}
}

// objectsWorld has n1 of owner-a with a reserved room r1, a reserved actor a1 and
// a ready room r2 with the member a2; n2 of owner-b; an operation that was completed
// and a reservation that was aborted.
func objectsWorld(t tb) (*world, objectRules) {
	t.Helper()
	w, a, b := creationWorld(t)
	w.ready("r2", "n1", a)
	w.member("a2", "r2", "n1", a)
	failed, aborted := w.reserved("a8", "n1", a), w.reserved("r9", "n1", a)
	w.complete(failed.complete(wire.CompletionFailed, term(1)))
	want(t, w.abort(aborted.abort()), wire.KindAborted)
	r1, a1 := w.reserved("r1", "n1", a), w.reserved("a1", "n1", a)
	room, actor := w.reserveRequest("r1", tgt("n2", b)), w.reserveRequest("a1", tgt("n2", b))
	other, free := w.reserveRequest("r3", tgt("n2", b)), w.reserveRequest("a3", tgt("n2", b))
	place := func(req *wire.ObjectReserveRequest) func(*kvstore.Tx) error {
		return func(tx *kvstore.Tx) error {
			_, err := domain.PlaceObject(tx, placed(req), domain.Seed{})
			return err
		}
	}
	joined := w.membershipIn("r2")
	return w, objectRules{
		"reserve r1":       rule(domain.ReserveObject, room),
		"reserve a1":       rule(domain.ReserveObject, actor),
		"reserve r2":       rule(domain.ReserveObject, w.reserveRequest("r2", tgt("n2", b), orRelease)),
		"reserve r3":       rule(domain.ReserveObject, other),
		"reserve a3":       rule(domain.ReserveObject, free),
		"place r1":         place(room),
		"place a1":         place(actor),
		"place r3":         place(other),
		"place a3":         place(free),
		"commit r1":        rule(domain.CommitObject, r1.commit()),
		"abort r1":         rule(domain.AbortObject, r1.abort()),
		"abort r9":         rule(domain.AbortObject, aborted.abort()),
		"complete a1":      rule(domain.CompleteCreation, a1.complete(wire.CompletionCreated, term(2))),
		"complete a1 late": rule(domain.CompleteCreation, a1.complete(wire.CompletionRejected, term(1))),
		"complete a1 as a member": rule(domain.CompleteCreation, a1.complete(wire.CompletionCreated, term(3),
			func(r *wire.ObjectCompleteCreationRequest) { r.Completion.Membership = &joined })),
		"release r1":    rule(domain.ReleaseEnded, &wire.ObjectReleaseEndedRequest{Key: r1.key, ExpectedStoreVersion: r1.version}),
		"read r1":       look(domain.ReadAuthority, &wire.AuthorityReadRequest{Key: r1.key}),
		"find r1":       look(domain.FindObject, &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r1"}),
		"await r2":      look(domain.AwaitAuthority, &wire.ObjectAwaitRequest{Key: keyOf("r2"), Until: wire.AwaitSettled}),
		"read terminal": look(domain.ReadTerminal, &wire.ObjectReadTerminalRequest{Operation: term(1).Operation}),
	}
}

// wantLostIn requires that exactly the named rules say that a row is lost, and that
// these write nothing.
func (w *world) wantLostIn(rules objectRules, k kvstore.Key, names ...string) {
	w.t.Helper()
	for _, name := range names {
		if rules[name] == nil {
			w.t.Fatalf("no rule %q", name)
		}
	}
	for name, fn := range rules {
		if slices.Contains(names, name) {
			w.quiet(func() {
				w.t.Helper()
				err := w.update(fn)
				if err == nil {
					w.t.Fatalf("%s finds nothing wrong with %q", name, string(k))
				}
				wantLost(w.t, err, k)
			})
			continue
		}
		if err := fn(kvstore.NewTx(w.view(), w.store.Limits())); err != nil {
			w.t.Fatalf("%s, which has nothing to do with %q: %v", name, string(k), err)
		}
	}
}

func TestDamagedRowIsLostInEveryRuleOfObjectsThatMeetsIt(t *testing.T) { // 1.5
	t.Parallel()
	lease, n1 := domain.LeaseKey("owner-a"), domain.MeshNodeKey("play", "n1")
	r1, a1 := domain.AuthorityKey(keyOf("r1")), domain.AuthorityKey(keyOf("a1"))
	for name, tt := range map[string]struct {
		key kvstore.Key
		in  []string
	}{
		"a reserved room": {r1, []string{"reserve r1", "place r1", "commit r1", "abort r1", "release r1", "read r1", "find r1"}},
		"a reserved actor": {a1, []string{
			"reserve a1", "place a1", "complete a1", "complete a1 as a member",
		}},
		"a ready room": {domain.AuthorityKey(keyOf("r2")), []string{"reserve r2", "await r2", "complete a1 as a member"}},
		"the owner's lease": {lease, []string{
			"reserve r1", "reserve a1", "reserve r2", "place r1", "place a1", "place r3", "place a3", "commit r1", "abort r1", "complete a1",
			"complete a1 as a member", "release r1", "read r1", "find r1", "await r2",
		}},
		"the terminal":   {domain.TerminalKey(term(1).Operation), []string{"complete a1 late", "read terminal"}},
		"the abort mark": {domain.AbortMarkKey(keyOf("r9"), abortedIn(t)), []string{"abort r9"}},
		"the node": {n1, []string{
			"reserve r1", "reserve a1", "place r1", "place a1", "place r3", "place a3", "commit r1", "complete a1", "complete a1 as a member",
			"release r1",
		}},
	} {
		for how, makes := range spoiled() {
			if name == "the abort mark" && how == "cut off" {
				continue // it is as short as that
			}
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				w, rules := objectsWorld(t)
				in := tt.in
				if tt.key == n1 && how != "trailing byte" { // it may have any entry spot
					in = append(slices.Clone(in), "reserve r2", "reserve r3")
				}
				w.spoilRow(tt.key, makes)
				w.wantLostIn(rules, tt.key, in...)
			})
		}
	}
}

// abortedIn is the reservation id that objectsWorld aborted.
func abortedIn(t tb) string {
	t.Helper()
	w, _ := objectsWorld(t)
	for r := range w.view().Scan(kvstore.Prefix(domain.FamilyAbortMark), "") {
		return r.Key.Split(3)[2]
	}
	t.Fatal("no abort mark")
	return ""
}

func TestDamagedMemberIsLostWithItsSpot(t *testing.T) { // 1.5, 6.2
	t.Parallel()
	for how, makes := range spoiled() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			for _, id := range []string{"r1", "r2", "i1", "a3"} {
				w.ready(id, "n1", a)
			}
			w.member("a1", "r1", "n1", a)
			w.lapse(b)
			k := domain.AuthorityKey(keyOf("a1"))
			w.spoilRow(k, makes)
			replace := func(id string) error {
				_, err := try(w, domain.ReserveObject, w.reserveRequest(id, tgt("n2", b), orRelease))
				return err
			}
			w.quiet(func() {
				wantLost(t, replace("r1"), k)
				if how != "trailing byte" { // it may be a member of any room
					wantLost(t, replace("r2"), k)
				}
			})
			for _, id := range []string{"i1", "a3"} { // which have none
				if err := replace(id); err != nil {
					t.Errorf("replace %s: %v", id, err)
				}
			}
		})
	}
}

func TestDamagedLeaseOfMemberIsLost(t *testing.T) { // 1.5, 6.2
	t.Parallel()
	w, a, b := creationWorld(t)
	c := w.hosts("n3", "owner-c")
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n3", c)
	w.release(a)
	k := domain.LeaseKey("owner-c")
	w.spoilRow(k, unreadable["no record"])
	w.quiet(func() {
		_, err := try(w, domain.ReserveObject, w.reserveRequest("r1", tgt("n2", b), orRelease))
		wantLost(t, err, k)
	})
}

func TestAuthorityThatCannotBePlacedFillsEveryNodeWithLimits(t *testing.T) { // 1.5, 1.10
	t.Parallel()
	w, a, b := creationWorld(t, limits(5, 0))
	w.ready("a1", "n2", b)
	k := domain.AuthorityKey(keyOf("a1"))
	w.spoilRow(k, unreadable["cut off"])
	w.quiet(func() {
		req := w.reserveRequest("a2", tgt("n1", a))
		_, err := try(w, domain.ReserveObject, req)
		wantLost(t, err, k)
	})
	w.anew(w.reserveRequest("a2", tgt("n2", b))) // no limit
	w.anew(w.reserveRequest("r2", tgt("n1", a))) // none for spots
}
