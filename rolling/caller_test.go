package rolling_test

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	callers = 4
	mesh    = "play"
	room    = "room"
	// stepRounds is how many rounds each caller makes at least between two steps.
	stepRounds = 3
	ttl        = wire.Millis(10 * 60 * 1000)
)

// caller is a node that renews its lease, rewrites the row of a spot, and creates, finds and removes rooms, again and again.
type caller struct {
	t      *testing.T
	c      *client.Client
	name   string
	token  wire.OwnerToken
	target wire.Target
	rounds atomic.Int64 // that are complete
	asked  int          // removals of which nobody knew whether they had happened
}

func newCaller(w *world, name string) *caller {
	w.t.Helper()
	k := &caller{t: w.t, c: w.client(), name: name}
	r, err := k.c.Leases.Claim(w.t.Context(), wire.LeaseClaimRequest{OwnerID: name, TTL: ttl})
	if err != nil || r.Token == nil {
		w.t.Fatalf("claim: %+v, %v", r, err)
	}
	k.token = *r.Token
	k.target = wire.Target{MeshName: mesh, NodeRID: wire.RID(name), NodeLifecycleGeneration: k.token.LeaseGeneration, Owner: k.token}
	u, err := k.c.MeshNodes.Update(w.t.Context(), wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: wire.MeshNodeDescriptor{
		MeshName: mesh, RID: wire.RID(name), LifecycleGeneration: k.token.LeaseGeneration, DescriptorRevision: 1, Endpoint: "tcp://" + name,
		ObjectRole: wire.RoleServer, PlacementWeight: 100, ActivationConcurrency: wire.ActivationConcurrency{Limit: 1},
		PopulationCapacity: wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: room}}},
		State:              wire.StateServing, SecurityIdentity: name, OwnerToken: k.token,
	}})
	if err != nil || u.Status != wire.StatusStored {
		w.t.Fatalf("node: %+v, %v", u, err)
	}
	return k
}

// round makes one round, and returns false when something failed. Every call is expected to succeed, however often it was tried.
func (k *caller) round(n int64) bool {
	renewed, err := k.c.Leases.Renew(k.t.Context(), wire.LeaseRenewRequest{Token: k.token, TTL: ttl})
	if err != nil || renewed.Kind != wire.KindRenewed {
		k.t.Errorf("%s, round %d: renew: %+v, %v", k.name, n, renewed, err)
		return false
	}
	if !k.rewrite(n) {
		return false
	}
	id := k.name + "-" + strconv.FormatInt(n, 10)
	version, ok := k.create(id)
	if !ok {
		return false
	}
	found, err := k.c.Objects.Find(k.t.Context(), wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: id})
	if err != nil || found.Entry == nil || found.Entry.State != wire.EntryReady {
		k.t.Errorf("find %s: %+v, %v", id, found, err)
		return false
	}
	return k.remove(id, version)
}

// rewrite writes the row of the caller's spot for the n-th time, from 1 on.
func (k *caller) rewrite(n int64) bool {
	intent := wire.IntentRenew
	if n == 1 {
		intent = wire.IntentNewClaim
	}
	r, err := k.c.Spots.Update(k.t.Context(), wire.SpotUpdateRequest{Intent: intent, Spot: wire.Spot{
		MeshName: mesh, SpotID: k.name, SpotGeneration: wire.Generation(n), SpotType: room, OwnerNodeRID: wire.RID(k.name),
		OwnerNodeGeneration: k.token.LeaseGeneration, SpotKind: wire.SpotKindUser, OwnerToken: k.token,
	}})
	if err != nil || r.Status != wire.StatusStored {
		k.t.Errorf("%s, round %d: update: %+v, %v", k.name, n, r, err)
		return false
	}
	return true
}

func (k *caller) create(id string) (wire.Version, bool) {
	none := sha256.Sum256(nil)
	key := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
	placed, err := k.c.Objects.Place(k.t.Context(), wire.ObjectPlaceRequest{
		Key: key, MeshName: mesh, CreatingPayload: []byte{},
		Intent:   wire.CreationIntent{StableType: room, RequestContentReference: "none", RequestSHA256: none[:]},
		Capacity: wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: room, Count: 1}},
	})
	if err != nil || placed.Kind != wire.KindReserved {
		k.t.Errorf("place %s: %+v, %v", id, placed, err)
		return "", false
	}
	done, err := k.c.Objects.Commit(k.t.Context(), wire.ObjectCommitRequest{
		Key: key, ReservationID: placed.ReservationID, ExpectedStoreVersion: placed.Creating.StoreVersion, Target: *placed.Target,
		ReadyPayload: []byte{},
	})
	if err != nil || done.Ready == nil {
		k.t.Errorf("commit %s: %+v, %v", id, done, err)
		return "", false
	}
	return done.Ready.StoreVersion, true
}

// remove deletes a room. It is the one call that a lost reply leaves open, since nothing but the version fences it; the room has one
// caller, so that it can look.
func (k *caller) remove(id string, version wire.Version) bool {
	key := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
	r, err := k.c.Authorities.CompareExchange(k.t.Context(), wire.AuthorityCompareExchangeRequest{
		Key: key, ExpectedStoreVersion: version, Mutation: wire.AuthorityMutation{Kind: wire.AuthorityDelete},
	})
	if errors.Is(err, client.ErrOutcomeUnknown) {
		k.asked++
		read, err := k.c.Leader().Authorities.Read(k.t.Context(), wire.AuthorityReadRequest{Key: key})
		if err != nil || read.Kind != wire.KindMissing {
			k.t.Errorf("read %s, which somebody removed: %+v, %v", id, read, err)
			return false
		}
		return true
	}
	if err != nil || r.Kind != wire.KindDeleted {
		k.t.Errorf("delete %s: %+v, %v", id, r, err)
		return false
	}
	return true
}

// load is what all callers do.
type load struct {
	callers []*caller
	stop    atomic.Bool
	wg      sync.WaitGroup
}

func startLoad(w *world) *load {
	w.t.Helper()
	l := new(load)
	for i := range callers {
		k := newCaller(w, "n"+strconv.Itoa(i))
		l.callers = append(l.callers, k)
	}
	for _, k := range l.callers {
		l.wg.Go(func() {
			for n := int64(1); !l.stop.Load() && k.round(n); n++ {
				k.rounds.Store(n)
			}
		})
	}
	return l
}

// progress waits until every caller has come on.
func (l *load) progress(t *testing.T, step string) {
	t.Helper()
	for _, k := range l.callers {
		until := k.rounds.Load() + stepRounds
		testenv.Eventually(t, patience, func() bool { return k.rounds.Load() >= until || t.Failed() }, step, k.name)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func (l *load) end() {
	l.stop.Store(true)
	l.wg.Wait()
}
