package domaintest_test

import (
	"crypto/sha256"
	"fmt"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// dice is where chance comes from.
type dice interface {
	roll(n int) int // 0..n-1
}

func pick[T any](d dice, options ...T) T { return options[d.roll(len(options))] }

// client makes up requests. There are few owners, nodes and objects, so that requests
// meet, and most of what it says is true of the view that it has.
type client struct {
	dice
	asks []weighed // what it may ask for
	view kvstore.View
	fail func(format string, args ...any)

	seen   census                       // what the view shows
	tokens map[string][]wire.OwnerToken // all that it has seen, latest last
	made   map[string]reservation       // the latest of each object
	asked  map[string]wire.ObjectReserveRequest
	placed map[string]wire.ObjectPlaceRequest
	moved  map[string]wire.ActorTransfer // the latest that was asked for, of each actor
	seeds  uint64
	groups map[wire.Fence]*group // as it made them up
	// generation is the latest of each aggregate.
	generation map[string]wire.Generation
}

// reservation is an object that is being created.
type reservation struct {
	key     wire.ObjectKey
	id      string
	version wire.Version
	target  wire.Target
}

func newClient(d dice, fail func(format string, args ...any)) *client {
	return &client{
		dice: d, asks: commands, fail: fail, tokens: make(map[string][]wire.OwnerToken), made: make(map[string]reservation),
		asked: make(map[string]wire.ObjectReserveRequest), placed: make(map[string]wire.ObjectPlaceRequest),
		moved:  make(map[string]wire.ActorTransfer),
		groups: make(map[wire.Fence]*group), generation: make(map[string]wire.Generation),
	}
}

// once tells whether something that happens once in n times happens.
func (c *client) once(n int) bool { return c.roll(n) == n-1 }

// look takes in a view of the store.
func (c *client) look(v kvstore.View) {
	c.view = v
	if c.seen.revision == v.Revision() && c.seen.now == v.Now() && c.seen.rows != nil {
		return
	}
	var err error
	if c.seen, err = count(v); err != nil {
		c.fail("%v", err)
	}
	for owner, t := range c.seen.leases {
		if of := c.tokens[owner]; len(of) == 0 || of[len(of)-1] != t {
			c.tokens[owner] = append(of, t)
		}
	}
	for i := range c.seen.objects {
		a := &c.seen.objects[i].Snapshot
		if a.PendingCreation != nil {
			c.made[a.Key] = reservation{
				id: a.PendingCreation.ReservationID, version: a.StoreVersion, target: targetOf(a),
			}
		}
	}
}

// What requests are about.

var (
	owners   = []string{"owner-a", "owner-b", "owner-c"}
	meshes   = []string{"play", "lab"}
	channels = []string{"match", "chat"}
	objects  = []string{"a1", "a2", "a3", "a: é", "r1", "r2", "r:3", "i1", "i2"}
	nodes    = []wire.DescriptorKey{
		{MeshName: "play", RID: "n1"}, {MeshName: "play", RID: "n2"}, {MeshName: "play", RID: "\xff\x00"}, {MeshName: "lab", RID: "n1"},
	}
	opaqueKeys = []string{"k", "k1", "k2", "\x00", "l"}
)

func (c *client) live(owner string) (wire.OwnerToken, bool) {
	t, ok := c.seen.leases[owner]
	return t, ok
}

// token is mostly a live one, else one that was.
func (c *client) token() wire.OwnerToken {
	owner := pick(c, owners...)
	for range 3 {
		if t, ok := c.live(owner); ok && !c.once(8) {
			return t
		}
		owner = pick(c, owners...)
	}
	if seen := c.tokens[owner]; len(seen) > 0 && !c.once(4) {
		return pick(c, seen...)
	}
	return wire.OwnerToken{OwnerID: owner, LeaseGeneration: 1}
}

// holder is mostly the token that a row carries.
func (c *client) holder(k kvstore.Key) wire.OwnerToken {
	if r, ok := c.seen.rows[k]; ok && !c.once(4) {
		return r.token
	}
	return c.token()
}

// target is mostly a live one.
func (c *client) target() (t wire.Target) {
	for range 4 {
		k := pick(c, nodes...)
		n := c.seen.node(k)
		t = wire.Target{MeshName: k.MeshName, NodeRID: k.RID, NodeLifecycleGeneration: 7}
		if n == nil {
			continue
		}
		t.Owner, t.NodeLifecycleGeneration = n.OwnerToken, n.LifecycleGeneration
		if n.Live && n.State == wire.StateServing {
			break
		}
	}
	if t.Owner == (wire.OwnerToken{}) || c.once(20) {
		t.Owner = c.token()
	}
	return t
}

func targetOf(a *wire.Authority) wire.Target {
	return wire.Target{
		MeshName: a.Allocation.Descriptor.MeshName, NodeRID: a.Allocation.Descriptor.RID,
		NodeLifecycleGeneration: a.Allocation.DescriptorLifecycleGeneration, Owner: ownerOf(a),
	}
}

func ownerOf(a *wire.Authority) wire.OwnerToken {
	return wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: a.OwnerLeaseGeneration}
}

// keyOf is the key of an object: actors begin with "a", user spots with "r".
func keyOf(id string) wire.ObjectKey {
	k := wire.ObjectKey{Kind: wire.ObjectInstanceSpot, GlobalID: id}
	switch id[0] {
	case 'a':
		k.Kind = wire.ObjectActor
	case 'r':
		k.Kind = wire.ObjectUserSpot
	}
	return k
}

// object is a record as it is; nil when there is none.
func (c *client) object(k wire.ObjectKey) *wire.Authority { return c.seen.object(k.Text()) }

// key is mostly that of an object in some state; spots are now and then taken for
// others.
func (c *client) key(state wire.AllocationState, among ...string) wire.ObjectKey {
	var found []string
	for _, id := range among {
		if a := c.object(keyOf(id)); a != nil && a.Allocation.State == state {
			found = append(found, id)
		}
	}
	if len(found) == 0 || c.once(6) {
		found = among
	}
	k := keyOf(pick(c, found...))
	if k.IsSpot() && c.once(12) {
		k.Kind = pick(c, wire.ObjectUserSpot, wire.ObjectInstanceSpot)
	}
	return k
}

// version is mostly that of an object as it is.
func (c *client) version(k wire.ObjectKey) wire.Version {
	if a := c.object(k); a != nil && !c.once(10) {
		return a.StoreVersion
	}
	return "1"
}

// creation is what an object becomes and takes.
func (c *client) creation(k wire.ObjectKey) (wire.CreationIntent, wire.Capacity) {
	stableType, takes := "hero", wire.Capacity{Actors: 1}
	switch k.Kind {
	case wire.ObjectUserSpot:
		stableType, takes = "room", spots(wire.SpotUser, "room", 1)
	case wire.ObjectInstanceSpot:
		stableType, takes = "chat", spots(wire.SpotInstance, "chat", 1)
	}
	if c.once(15) {
		stableType = "other"
	}
	if c.once(8) {
		takes = pick(c, wire.Capacity{Actors: 2}, wire.Capacity{Actors: 1, Spots: 1}, spots(wire.SpotUser, "room", 2), spots(wire.SpotUser, "hall", 1))
	}
	digest := sha256.Sum256([]byte("request"))
	return wire.CreationIntent{
		StableType: stableType, RequestContentReference: "requests/1", RequestSHA256: digest[:], RequestEncodedSize: 7,
	}, takes
}

func spots(kind wire.SpotObjectKind, stableType string, n uint32) wire.Capacity {
	return wire.Capacity{Spots: n, SpotType: &wire.SpotCapacity{ObjectKind: kind, StableType: stableType, Count: n}}
}

func (c *client) payload() wire.Bytes {
	return pick(c, wire.Bytes{}, wire.Bytes("p"), wire.Bytes("\x00q"))
}

func (c *client) reservationID() string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", c.roll(8))
}

func (c *client) intent() wire.Intent {
	return pick(c, wire.IntentNewClaim, wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover)
}

// membership is mostly that in a user spot as it is; nil is none.
func (c *client) membership() *wire.Membership {
	m := wire.Membership{SpotID: pick(c, "r1", "r1", "r2", "i1"), SpotGeneration: 1, SpotKind: wire.MembershipUser}
	if a := c.object(keyOf(m.SpotID)); a != nil && !c.once(10) {
		m.SpotGeneration = a.ObjectGeneration
	}
	switch c.roll(8) {
	case 6:
		m.SpotKind = wire.MembershipEntry
	case 7:
		return nil
	}
	return &m
}

// toEnd is mostly the latest reservation of an object.
func (c *client) toEnd(k wire.ObjectKey) reservation {
	r, ok := c.made[k.Text()]
	if !ok || c.once(12) {
		r = reservation{id: c.reservationID(), version: c.version(k), target: c.target()}
	}
	r.key = k
	return r
}

// operation names one of few creations.
func (c *client) operation() wire.OperationKey {
	return wire.OperationKey{
		SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{Low: wire.U64(1 + c.roll(20))},
	}
}

func (c *client) seed() domain.Seed {
	c.seeds++
	return domain.Seed{c.seeds, uint64(c.roll(1 << 16))}
}
