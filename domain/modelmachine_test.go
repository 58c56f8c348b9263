package domain_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// dice is where a machine's chance comes from.
type dice interface {
	roll(n int) int // 0..n-1
}

func pick[T any](d dice, options ...T) T { return options[d.roll(len(options))] }

// machine does the same to a store and to a model, and compares what they answer.
type machine struct {
	*world
	dice
	m    *model
	seen map[string]int // replies by their names
	last past

	op     string                             // of the last command
	places map[string]wire.ObjectPlaceRequest // the latest of each object, to be repeated
	asked  map[string]wire.ObjectReserveRequest
	ending map[string]reservation                      // the latest of each object
	moves  map[wire.Fence]wire.AggregatePrepareRequest // the latest of each aggregate

	derived *derived     // once
	earlier kvstore.View // one of a while ago
}

// The commit limits of machines, small enough to be in the way: with the smaller one no
// participant can be staged.
const (
	modelRows     = 2
	modelMoveRows = 3
)

// nearTheEnd is a revision after which a machine soon runs out of them.
const nearTheEnd = kvstore.MaxRevision - 120

// newMachine begins with a store that is empty at a revision.
func newMachine(t tb, d dice, start kvstore.Revision, rows int, seen map[string]int) *machine {
	clock := testenv.NewClock(testenv.T0)
	store := memkv.New(memkv.Options{
		Schema: domain.Schema(), Clock: storeClock{clock}, Start: start, Limits: kvstore.Limits{CommitRows: rows},
	})
	return &machine{
		world: &world{t: t, clock: clock, store: store, seen: start},
		dice:  d, m: newModel(start, rows), seen: seen, last: past{revision: start, generations: map[string]wire.Generation{}},
		places: make(map[string]wire.ObjectPlaceRequest), asked: make(map[string]wire.ObjectReserveRequest),
		ending: make(map[string]reservation), moves: make(map[wire.Fence]wire.AggregatePrepareRequest), derived: newDerived(),
	}
}

// saw counts a reply by what tells it from others.
func (c *machine) saw(parts ...string) { c.seen[strings.TrimSpace(strings.Join(parts, " "))]++ }

// once tells whether something that happens once in n times happens.
func (c *machine) once(n int) bool { return c.roll(n) == n-1 }

// decide runs a write rule and requires what the model answers; nil is a request that
// failed as it should.
func decide[Q, R any](
	c *machine, validate func(*Q) error, rule func(*kvstore.Tx, *Q) (*R, error), should func(*Q, *R) (*R, error), req *Q,
) *R {
	c.t.Helper()
	got, err := tryValid(c.world, validate, rule, req)
	wanted, wantErr := should(req, got)
	var invalid, wantInvalid *wire.InvalidError
	switch {
	case errors.As(wantErr, &wantInvalid):
		if !errors.As(err, &invalid) || invalid.Field != wantInvalid.Field {
			c.t.Fatalf("%s %+v: error %v, want one about %s", c.op, req, err, wantInvalid.Field)
		}
		c.saw(c.op, "invalid")
		return nil
	case wantErr != nil:
		if !errors.Is(err, wantErr) {
			c.t.Fatalf("%s %+v: error %v, want %v", c.op, req, err, wantErr)
		}
		c.saw(c.op, "exhausted")
		return nil
	case err != nil:
		c.t.Fatalf("%s %+v: error %v, want %+v", c.op, req, err, wanted)
	}
	c.same(req, got, wanted)
	return got
}

// alone is a rule of the model that needs not know what the store did.
func alone[Q, R any](should func(*Q) (*R, error)) func(*Q, *R) (*R, error) {
	return func(req *Q, _ *R) (*R, error) { return should(req) }
}

func (c *machine) same(req, got, wanted any) {
	c.t.Helper()
	if !reflect.DeepEqual(got, wanted) { // much faster than a diff
		c.t.Fatalf("%s %+v: got - want +\n%s", c.op, req, cmp.Diff(got, wanted))
	}
}

// step carries out one command, and checks what holds after every one.
func (c *machine) step() {
	c.t.Helper()
	commands := []struct {
		op     string
		weight int
		run    func()
	}{
		{"advance", 5, c.advance},
		{"sweep", 2, c.sweep},
		{"revive", 2, c.revive},
		{"lease.claim", 6, c.claimLease},
		{"lease.renew", 2, c.renewLease},
		{"lease.release", 1, c.releaseLease},
		{"lease.read", 1, c.readLeases},
		{"mesh-node.update", 14, c.updateNode},
		{"mesh-node.remove", 1, c.removeNode},
		{"owner.remove-all", 1, c.removeOwner},
		{"object.reserve", 10, c.reserveObject},
		{"object.place", 10, c.placeObject},
		{"object.commit", 8, c.commitObject},
		{"object.abort", 2, c.abortObject},
		{"object.complete-creation", 10, c.completeCreation},
		{"object.release-ended", 2, c.releaseObject},
		{"authority.compare-exchange", 14, c.compareExchange},
		{"authority.compare-exchange", 6, c.join},
		{"object.read-terminal", 2, c.readTerminal},
		{"object.find", 2, c.findObject},
		{"object.list", 3, c.listObjects},
		{"object.await", 2, c.awaitObject},
		{"placement.select", 5, c.selectNode},
		{"aggregate.stage", 5, c.stageParticipants},
		{"aggregate.prepare", 12, c.prepareAggregate},
		{"aggregate.commit", 8, c.commitAggregates},
		{"aggregate.abort", 2, c.abortAggregates},
		{"aggregate.find", 2, c.findAggregate},
		{"work on aggregates", 5, c.workOnAggregates},
	}
	if c.earlier.State() == nil || c.once(5) {
		c.earlier = c.view()
	}
	total := 0
	for _, command := range commands {
		total += command.weight
	}
	n := c.roll(total)
	for _, command := range commands {
		if n -= command.weight; n < 0 {
			c.op = command.op
			command.run()
			break
		}
	}
	c.check()
}

// What commands are about.

func (c *machine) owner() string { return pick(c, "owner-a", "owner-b", "owner-c") }

// token is mostly a live one.
func (c *machine) token() wire.OwnerToken {
	for range 3 {
		if l, ok := c.m.leases[c.owner()]; ok && c.m.live(l.token) {
			return l.token
		}
	}
	owner := c.owner()
	if l, ok := c.m.leases[owner]; ok && !c.once(3) {
		return l.token
	}
	return wire.OwnerToken{OwnerID: owner, LeaseGeneration: 1}
}

var modelNodes = []wire.DescriptorKey{
	{MeshName: "play", RID: "n1"}, {MeshName: "play", RID: "n2"}, {MeshName: "play", RID: "\xff\x00"}, {MeshName: "lab", RID: "n1"},
}

func (c *machine) nodeKey() wire.DescriptorKey { return pick(c, modelNodes...) }

// target is mostly a live one.
func (c *machine) target() (t wire.Target) {
	for range 6 {
		k := c.nodeKey()
		d := c.m.nodes[k]
		t = wire.Target{MeshName: k.MeshName, NodeRID: k.RID, NodeLifecycleGeneration: 7, Owner: d.OwnerToken}
		if c.m.liveTarget(t) {
			break
		}
	}
	switch c.roll(16) {
	case 14:
		t.NodeLifecycleGeneration = 8
	case 15:
		t.Owner = c.token()
	}
	if t.Owner == (wire.OwnerToken{}) {
		t.Owner = c.token()
	}
	return t
}

var modelObjects = []string{"a1", "a2", "a3", "a: é", "r1", "r2", "r:3", "i1", "i2"}

// key is that of any object, now and then with the other kind of spot.
func (c *machine) key() wire.ObjectKey {
	k := keyOf(pick(c, append([]string{"r1", "r1", "r1", "r1", "a1", "a2", "a3"}, modelObjects...)...))
	if c.once(15) && k.IsSpot() {
		k.Kind = pick(c, wire.ObjectUserSpot, wire.ObjectInstanceSpot)
	}
	return k
}

// keyToCreate is that of any object, or of a user spot that is there.
func (c *machine) keyToCreate() wire.ObjectKey {
	if c.once(3) {
		return c.keyIn(wire.AllocationActive, modelObjects[4:7])
	}
	return c.key()
}

// keyIn is mostly that of an object in a state, among those of some ids.
func (c *machine) keyIn(state wire.AllocationState, ids []string) wire.ObjectKey {
	var found []string
	for _, id := range ids {
		if o, ok := c.m.objects[modelText(keyOf(id))]; ok && o.Allocation.State == state {
			found = append(found, id)
		}
	}
	if len(found) == 0 || c.once(6) {
		return keyOf(pick(c, ids...))
	}
	return keyOf(pick(c, found...))
}

// creation draws the type and the capacity of an object.
func (c *machine) creation(k wire.ObjectKey) (wire.CreationIntent, wire.Capacity) {
	stableType, takes := sortOf(k)
	if c.once(15) {
		stableType = "other"
	}
	if c.once(6) {
		takes = pick(c, wire.Capacity{Actors: 2}, wire.Capacity{Actors: 1, Spots: 1}, spotsOf(wire.SpotUser, "hall"),
			wire.Capacity{Spots: 2, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 2}})
	}
	return intentFor(stableType), takes
}

func (c *machine) reservationID() string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", c.roll(6))
}

func (c *machine) endedOwner() wire.EndedOwner {
	return pick(c, "", wire.EndedOwnerKeep, wire.EndedOwnerRelease, wire.EndedOwnerRelease)
}

func (c *machine) payload() wire.Bytes {
	return pick(c, wire.Bytes{}, wire.Bytes("p"), wire.Bytes("\x00q"))
}

// version is mostly that of an object as it is.
func (c *machine) version(k wire.ObjectKey) wire.Version {
	if o, ok := c.m.objects[modelText(k)]; ok && !c.once(10) {
		return o.StoreVersion
	}
	return pick(c, wire.Version("1"), wire.Version("x"))
}

// toEnd is mostly the latest reservation of an object.
func (c *machine) toEnd(k wire.ObjectKey) reservation {
	r, ok := c.ending[k.GlobalID]
	if !ok {
		r = reservation{id: c.reservationID(), version: "1", target: c.target()}
	}
	switch c.roll(24) {
	case 21:
		r.id = c.reservationID()
	case 22:
		r.version = c.version(k)
	case 23:
		r.target = c.target()
	}
	r.key = k
	return r
}

// membership is mostly that in a user spot as it is; nil is none.
func (c *machine) membership() *wire.Membership {
	j := wire.Membership{SpotID: pick(c, "r1", "r1", "r1", "r1", "r2", "i1"), SpotGeneration: 1, SpotKind: wire.MembershipUser}
	if o, ok := c.m.objects[modelText(keyOf(j.SpotID))]; ok && !c.once(10) {
		j.SpotGeneration = o.ObjectGeneration
	}
	switch c.roll(8) {
	case 6:
		j.SpotKind = wire.MembershipEntry
	case 7:
		return nil
	}
	return &j
}
