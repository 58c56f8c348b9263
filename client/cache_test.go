package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestCacheOptions(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		o  client.CacheOptions
		ok bool
	}{
		"defaults":                       {client.DefaultCacheOptions(), true},
		"off":                            {client.CacheOptions{}, true},
		"off, with a short following":    {client.CacheOptions{MessageFollowDuration: 1}, true},
		"without following":              {client.CacheOptions{RouteCacheMaxAge: time.Hour}, true},
		"as old as following allows":     {client.CacheOptions{RouteCacheMaxAge: 15 * time.Second, MessageFollowDuration: 20 * time.Second}, true},
		"older than following allows":    {client.CacheOptions{RouteCacheMaxAge: 15*time.Second + 1, MessageFollowDuration: 20 * time.Second}, false},
		"an age before the beginning":    {client.CacheOptions{RouteCacheMaxAge: -1}, false},
		"fewer entries than none at all": {client.CacheOptions{MaxEntries: -1}, false},
	} {
		p := &pushing{pushed: make(map[string]chan *nats.Msg)}
		c, err := client.New(p, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := client.NewObjectCache(c, row.o)
		if (err == nil) != row.ok {
			t.Errorf("%s: got %v", name, err)
		}
		if k != nil {
			k.Close()
		}
	}
}

func TestCacheKeepsAnswersAsLongAsTheyAreGood(t *testing.T) {
	t.Parallel()
	cacheWorld(t, client.DefaultCacheOptions(), func(t *testing.T, p *pushing, k *objectCache) {
		p.put("a", "o", 5)
		get(t, p, k, "a", "5", 1)
		time.Sleep(15*time.Second - time.Nanosecond)
		get(t, p, k, "a", "5", 1)
		time.Sleep(time.Nanosecond)
		get(t, p, k, "a", "5", 2)
		get(t, p, k, "none", "", 3)
		time.Sleep(time.Second - time.Nanosecond)
		get(t, p, k, "none", "", 3)
		time.Sleep(time.Nanosecond)
		get(t, p, k, "none", "", 4)
		if a, err := k.Get(t.Context(), actor("a")); err != nil || a.Payload != nil {
			t.Errorf("got %+v, %v, want no payload", a, err)
		}
	})
}

func TestCacheThatIsOffAsksEachTime(t *testing.T) {
	t.Parallel()
	cacheWorld(t, client.CacheOptions{}, func(t *testing.T, p *pushing, k *objectCache) {
		p.put("a", "o", 5)
		get(t, p, k, "a", "5", 1)
		get(t, p, k, "a", "5", 2)
	})
}

func TestCacheSharesOneRequest(t *testing.T) {
	t.Parallel()
	cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
		p.put("a", "o", 5)
		release := p.holdAnswers()
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { get(t, p, k, "a", "5", 1) })
		}
		impatient, cancel := context.WithCancel(t.Context())
		callers.Go(func() {
			if _, err := k.Get(impatient, actor("a")); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		release()
		callers.Wait()
	})
}

func TestCacheForgetsWhatChanges(t *testing.T) {
	t.Parallel()
	cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
		p.put("a", "o", 5)
		p.put("b", "o2", 6)
		get(t, p, k, "a", "5", 1)
		get(t, p, k, "b", "6", 2)
		p.put("a", "o", 7)
		p.pushObject("a", 7)
		get(t, p, k, "a", "7", 3)
		p.pushObject("a", 7) // a second time
		p.pushObject("a", 6) // late
		get(t, p, k, "a", "7", 3)
		get(t, p, k, "b", "6", 3)
	})
}

func TestCacheForgetsWithLeaseAndNode(t *testing.T) {
	t.Parallel()
	prefix := subjects.DefaultPrefix
	for name, row := range map[string]struct {
		subject string
		kind    subjects.ChangeKind
		change  wire.ChangeType
		asks    int
	}{
		"lease expired":        {prefix.Change(subjects.ChangeOwnerLease, "owner", "o"), subjects.ChangeOwnerLease, wire.ChangeExpired, 1},
		"lease released":       {prefix.Change(subjects.ChangeOwnerLease, "owner", "o"), subjects.ChangeOwnerLease, wire.ChangeRemoved, 1},
		"lease claimed":        {prefix.Change(subjects.ChangeOwnerLease, "owner", "o"), subjects.ChangeOwnerLease, wire.ChangeUpserted, 0},
		"another's lease":      {prefix.Change(subjects.ChangeOwnerLease, "owner", "x"), subjects.ChangeOwnerLease, wire.ChangeExpired, 0},
		"node removed":         {prefix.Change(subjects.ChangeMeshNode, "play", "n-o"), subjects.ChangeMeshNode, wire.ChangeRemoved, 1},
		"node's lease over":    {prefix.Change(subjects.ChangeMeshNode, "play", "n-o"), subjects.ChangeMeshNode, wire.ChangeExpired, 1},
		"node told its weight": {prefix.Change(subjects.ChangeMeshNode, "play", "n-o"), subjects.ChangeMeshNode, wire.ChangeUpserted, 0},
		"node of another mesh": {prefix.Change(subjects.ChangeMeshNode, "x", "n-o"), subjects.ChangeMeshNode, wire.ChangeRemoved, 0},
	} {
		cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
			p.put("a", "o", 5)
			p.put("b", "o2", 6)
			get(t, p, k, "a", "5", 1)
			get(t, p, k, "b", "6", 2)
			p.put("c", "o", 7)
			p.push(row.subject, prefix.ChangesWildcard(row.kind, "", ""), row.change, 7)
			get(t, p, k, "a", "5", 2+row.asks)
			get(t, p, k, "b", "6", 2+row.asks)
			if t.Failed() {
				t.Log(name)
			}
		})
	}
}

func TestReadUnderWayDoesNotPutBackWhatChanged(t *testing.T) {
	t.Parallel()
	for name, outdate := range map[string]func(p *pushing, k *objectCache){
		"changed": func(p *pushing, _ *objectCache) { p.pushObject("a", 7) },
		"lease ended": func(p *pushing, _ *objectCache) {
			p.push(subjects.DefaultPrefix.Change(subjects.ChangeOwnerLease, "owner", "o"),
				subjects.DefaultPrefix.ChangesWildcard(subjects.ChangeOwnerLease, "", ""), wire.ChangeExpired, 7)
		},
		"connection lost": func(p *pushing, _ *objectCache) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.reconnects++
		},
		"known to be wrong": func(_ *pushing, k *objectCache) { k.Forget(actor("a")) },
	} {
		cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
			p.put("a", "o", 5)
			release := p.holdAnswers()
			var callers sync.WaitGroup
			callers.Go(func() { get(t, p, k, "a", "7", 2) })
			synctest.Wait() // the answer is made, and on its way
			p.put("a", "o", 7)
			outdate(p, k)
			callers.Go(func() { get(t, p, k, "a", "7", 2) })
			synctest.Wait()
			release()
			callers.Wait()
			get(t, p, k, "a", "7", 2)
			if t.Failed() {
				t.Log(name)
			}
		})
	}
}

func TestCacheAsksForWhatItWasTold(t *testing.T) {
	t.Parallel()
	cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
		p.put("a", "o", 5)
		get(t, p, k, "a", "5", 1)
		p.pushObject("a", 9)
		if _, err := k.Get(t.Context(), actor("a")); err != nil {
			t.Fatal(err)
		}
		if got := p.requests()[1].Header.Get(wire.HeaderMinRevision); got != "9" {
			t.Errorf("asked for revision %q, want 9", got)
		}
		n := len(p.requests()) // an instance that is behind all the same is not believed for long
		get(t, p, k, "a", "5", n+3)
		k.Forget(actor("a"))
		if _, err := k.Get(t.Context(), actor("a")); err != nil {
			t.Fatal(err)
		}
		if got := p.requests()[n+3].Header.Get(wire.HeaderConsistency); got != wire.ConsistencyLeader {
			t.Errorf("asked for consistency %q, want %q", got, wire.ConsistencyLeader)
		}
	})
}

func TestCacheForgetsEverythingWhenChangesMayBeMissing(t *testing.T) {
	t.Parallel()
	cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
		p.put("a", "o", 5)
		get(t, p, k, "a", "5", 1)
		p.mu.Lock()
		p.reconnects++
		p.mu.Unlock()
		get(t, p, k, "a", "5", 2)

		p.mu.Lock()
		locked, ch := make(chan struct{}), p.pushed["zlink.v1.changes.authority.actor.a"]
		p.locked = locked
		p.mu.Unlock()
		var callers sync.WaitGroup
		callers.Go(func() { // keeps the cache from looking at changes
			if _, err := k.Get(t.Context(), actor("a")); err != nil {
				t.Error(err)
			}
		})
		for len(ch) < cap(ch) {
			select {
			case ch <- &nats.Msg{Subject: "zlink.v1.changes.authority.actor.other", Header: nats.Header{wire.HeaderRevision: {"6"}, wire.HeaderIndex: {"0"}}}:
			default:
			}
		}
		p.mu.Lock()
		p.locked = nil
		p.mu.Unlock()
		close(locked)
		callers.Wait()
		synctest.Wait()
		get(t, p, k, "a", "5", 3)
	})
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	o := long
	o.MaxEntries = 2
	cacheWorld(t, o, func(t *testing.T, p *pushing, k *objectCache) {
		for i := range 3 {
			p.put(fmt.Sprint(i), "o", 5)
			get(t, p, k, fmt.Sprint(i), "5", i+1)
		}
		get(t, p, k, "2", "5", 3)
		get(t, p, k, "1", "5", 3)
		get(t, p, k, "0", "5", 4)
		get(t, p, k, "1", "5", 4)
		get(t, p, k, "2", "5", 5) // it went for 0
	})
}

func TestClosedCacheAnswersNobody(t *testing.T) {
	t.Parallel()
	cacheWorld(t, long, func(t *testing.T, p *pushing, k *objectCache) {
		defer p.holdAnswers()()
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := k.Get(t.Context(), actor("a")); !errors.Is(err, client.ErrCacheClosed) {
				t.Errorf("got %v, want %v", err, client.ErrCacheClosed)
			}
		})
		synctest.Wait()
		k.Close()
		callers.Wait()
		if _, err := k.Get(t.Context(), actor("a")); !errors.Is(err, client.ErrCacheClosed) {
			t.Errorf("got %v, want %v", err, client.ErrCacheClosed)
		}
	})
}
