package client_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// pushing is a service of authorities and the connection to it: it answers what it was told, and pushes what a test wants.
type pushing struct {
	mu         sync.Mutex
	revision   wire.Revision             // guarded by mu; of the answers
	objects    map[string]wire.Authority // guarded by mu; by text form of the key
	asked      []*nats.Msg               // guarded by mu
	hold       chan struct{}             // guarded by mu; answers wait until it is closed, after they were made
	reconnects uint64                    // guarded by mu
	locked     chan struct{}             // guarded by mu; not nil: Stats waits until it is closed
	pushed     map[string]chan *nats.Msg // guarded by mu; by subject subscribed to
}

func (p *pushing) RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	p.mu.Lock()
	var reply any = &wire.StatusGetReply{StoreNow: 1}
	hold := p.hold
	if m.Subject == "zlink.v1.authority.read" {
		p.asked = append(p.asked, m)
		var request wire.AuthorityReadRequest
		if err := wire.Unmarshal(wire.CBOR, m.Data, &request); err != nil {
			panic(err)
		}
		a, ok := p.objects[request.Key.Text()]
		if !ok {
			a = wire.Authority{Kind: wire.KindMissing}
		}
		reply = &a
	} else {
		hold = nil
	}
	revision := strconv.FormatUint(uint64(p.revision), 10)
	p.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	data, err := wire.Marshal(wire.CBOR, reply)
	return &nats.Msg{Data: data, Header: nats.Header{wire.HeaderContentType: {wire.CBOR.ContentType()}, wire.HeaderRevision: {revision}}}, err
}

func (p *pushing) ChanSubscribe(subject string, ch chan *nats.Msg) (*nats.Subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pushed[subject] = ch
	return &nats.Subscription{Subject: subject}, nil
}

func (p *pushing) Stats() nats.Statistics {
	p.mu.Lock()
	n, locked := p.reconnects, p.locked
	p.mu.Unlock()
	if locked != nil {
		<-locked
	}
	return nats.Statistics{Reconnects: n}
}

// put stores an object of an owner at a revision.
func (p *pushing) put(id, owner string, revision wire.Revision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	live := true
	p.objects[actor(id).Text()] = wire.Authority{
		Kind: wire.KindSnapshot, Key: actor(id).Text(), OwnerID: owner, Live: &live, Payload: wire.Bytes("p"),
		StoreVersion: wire.Version(strconv.FormatUint(uint64(revision), 10)), ObjectGeneration: 1, AuthorityOwnerGeneration: 1,
		Phase: wire.PhaseSteady, OwnerLeaseGeneration: 1,
		Allocation: &wire.Allocation{State: wire.AllocationActive, ObjectKind: wire.ObjectActor, StableType: "t", Descriptor: wire.DescriptorKey{MeshName: "play", RID: wire.RID("n-" + owner)}},
	}
	p.revision = max(p.revision, revision)
}

// push tells a change on a subject, to whoever subscribed to it or to the wildcard.
func (p *pushing) push(subject, wildcard string, change wire.ChangeType, revision wire.Revision) {
	p.mu.Lock()
	ch := p.pushed[subject]
	if ch == nil {
		ch = p.pushed[wildcard]
	}
	p.mu.Unlock()
	ch <- &nats.Msg{Subject: subject, Header: nats.Header{
		wire.HeaderRevision: {strconv.FormatUint(uint64(revision), 10)}, wire.HeaderIndex: {"0"}, wire.HeaderChange: {string(change)},
	}}
	synctest.Wait()
}

func (p *pushing) pushObject(id string, revision wire.Revision) {
	p.push(subjects.DefaultPrefix.Change(subjects.ChangeAuthority, "actor", id), "", wire.ChangeUpserted, revision)
}

func (p *pushing) requests() []*nats.Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *pushing) holdAnswers() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hold := make(chan struct{})
	p.hold = hold
	return func() {
		p.mu.Lock()
		p.hold = nil
		p.mu.Unlock()
		close(hold)
	}
}

func actor(id string) wire.ObjectKey { return wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: id} }

type objectCache = client.Cache[wire.ObjectKey, wire.Authority]

// cacheWorld runs a test in a bubble, with a cache.
func cacheWorld(t *testing.T, o client.CacheOptions, test func(t *testing.T, p *pushing, k *objectCache)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pushing{objects: make(map[string]wire.Authority), pushed: make(map[string]chan *nats.Msg)}
		c, err := client.New(p, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := client.NewObjectCache(c, o)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		test(t, p, k)
	})
}

// long keeps answers for so long that their age does not matter.
var long = client.CacheOptions{RouteCacheMaxAge: time.Hour}

// get wants the version of an object after so many requests in all.
func get(t *testing.T, p *pushing, k *objectCache, id, version string, requests int) {
	t.Helper()
	a, err := k.Get(t.Context(), actor(id))
	if err != nil || string(a.StoreVersion) != version || len(p.requests()) != requests {
		t.Errorf("%s is %+v, %v after %d requests; want version %q after %d", id, a, err, len(p.requests()), version, requests)
	}
}
