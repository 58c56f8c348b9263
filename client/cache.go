package client

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
)

// The defaults of [CacheOptions].
const (
	// DefaultRouteCacheMaxAge is far below [DefaultMessageFollowDuration].
	DefaultRouteCacheMaxAge = 15 * time.Second
	// DefaultMessageFollowDuration is how long a node sends on what arrives for an object that it has given away.
	DefaultMessageFollowDuration = 30 * time.Second
	// DefaultCacheEntries is a few megabytes, and as many subscriptions.
	DefaultCacheEntries = 10_000
)

const (
	// followSlack is how much sooner an entry has to be forgotten than the node it names stops to send on.
	followSlack = 5 * time.Second
	// negativeAge bounds the age of an answer that is of no use to the caller, such as that there is no such object: whoever asks
	// again hopes for a better one.
	negativeAge = time.Second
	// pushedAhead is how many changes may wait to be looked at.
	pushedAhead = 8192
	// cacheReads is how often an answer is read again that was outdated when it came; after that it is passed on, but not kept.
	cacheReads = 3
)

// CacheOptions are the rules by which a [Cache] keeps answers. Rules: domain 16. The zero value keeps nothing; see
// [DefaultCacheOptions].
type CacheOptions struct {
	// RouteCacheMaxAge is how old an answer may get; 0 turns the cache off.
	RouteCacheMaxAge time.Duration
	// MessageFollowDuration is how long nodes send on what arrives for an object that has moved, or 0 if they do not. If both are
	// on, it is at least RouteCacheMaxAge and 5 s.
	MessageFollowDuration time.Duration
	// MaxEntries bounds the number of answers kept, each of which takes a subscription; those not used for longest go first.
	// 0 is [DefaultCacheEntries].
	MaxEntries int
}

// DefaultCacheOptions are the defaults of the domain.
func DefaultCacheOptions() CacheOptions {
	return CacheOptions{RouteCacheMaxAge: DefaultRouteCacheMaxAge, MessageFollowDuration: DefaultMessageFollowDuration}
}

func (o *CacheOptions) validate() error {
	switch {
	case o.RouteCacheMaxAge < 0, o.MessageFollowDuration < 0, o.MaxEntries < 0:
		return fmt.Errorf("new cache: a negative value in %+v", *o)
	case o.RouteCacheMaxAge > 0 && o.MessageFollowDuration > 0 && o.RouteCacheMaxAge+followSlack > o.MessageFollowDuration:
		return fmt.Errorf("new cache: RouteCacheMaxAge of %v and %v are more than MessageFollowDuration of %v",
			o.RouteCacheMaxAge, followSlack, o.MessageFollowDuration)
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = DefaultCacheEntries
	}
	return nil
}

// ErrCacheClosed: the cache was closed.
var ErrCacheClosed = errors.New("cache is closed")

// Cache answers questions about places from what it was told before. Create it with [NewObjectCache] or [NewRouteCache], and close
// it. It may be used from any number of goroutines.
//
// Callers that ask for the same key at the same time share one request. An answer is kept until it has the greatest age, until it
// is changed, until its owner's lease ends, or until its node's descriptor goes. For this the cache subscribes to the changes of
// each key that it holds, and to the ends of leases and descriptors, of which there are few: what it costs depends on what it
// holds, not on how many objects there are. The changes are received by plain NATS, which may lose some: with a lost connection, of
// which the cache forgets everything once it is back, or between servers, where only the age helps. Without a connection what is
// kept is answered until it is too old.
type Cache[Key, Value any] struct {
	c       *Client
	conn    subscriber // nil when the cache is off
	o       CacheOptions
	source  cached[Key, Value]
	ctx     context.Context //nolint:containedctx // of the requests, which outlive the callers that share them
	cancel  context.CancelFunc
	pushed  chan *nats.Msg
	running sync.WaitGroup

	mu         sync.Mutex
	closed     bool                                       // guarded by mu
	entries    map[string]*entry[Key, Value]              // guarded by mu; by subject of the changes
	used       *list.List                                 // guarded by mu; entries, the one used last first
	holders    map[string]map[*entry[Key, Value]]struct{} // guarded by mu; entries with a value by what it depends on
	reading    map[*entry[Key, Value]]struct{}            // guarded by mu; entries with a read under way
	reconnects uint64                                     // guarded by mu; of the connection when last looked at
	wildcards  []*nats.Subscription
}

// subscriber is the connection that a cache needs. A [*nats.Conn] is one.
type subscriber interface {
	ChanSubscribe(subject string, ch chan *nats.Msg) (*nats.Subscription, error)
	Stats() nats.Statistics
}

func newCache[Key, Value any](c *Client, o CacheOptions, s cached[Key, Value]) (*Cache[Key, Value], error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	k := &Cache[Key, Value]{
		c: c, o: o, source: s, pushed: make(chan *nats.Msg, pushedAhead), used: list.New(),
		entries: make(map[string]*entry[Key, Value]), holders: make(map[string]map[*entry[Key, Value]]struct{}),
		reading: make(map[*entry[Key, Value]]struct{}),
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	if o.RouteCacheMaxAge == 0 {
		return k, nil
	}
	conn, ok := c.conn.(subscriber)
	if !ok {
		return nil, fmt.Errorf("new cache: cannot subscribe with a %T", c.conn)
	}
	k.conn, k.reconnects = conn, conn.Stats().Reconnects
	for _, kind := range []subjects.ChangeKind{subjects.ChangeOwnerLease, subjects.ChangeMeshNode} {
		sub, err := conn.ChanSubscribe(c.prefix.ChangesWildcard(kind, "", ""), k.pushed)
		if err != nil {
			k.Close()
			return nil, fmt.Errorf("new cache: %w", err)
		}
		k.wildcards = append(k.wildcards, sub)
	}
	k.running.Go(k.listen)
	return k, nil
}

// Close gives up everything. Calls that wait get [ErrCacheClosed].
func (k *Cache[Key, Value]) Close() {
	k.cancel()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.running.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.entries {
		unsubscribe(e.sub)
	}
	for _, sub := range k.wildcards {
		unsubscribe(sub)
	}
	k.wildcards = nil
	clear(k.entries)
}

// unsubscribe ends a subscription; it can only fail when the connection is closed, which ended it.
func unsubscribe(s *nats.Subscription) {
	if s != nil {
		_ = s.Unsubscribe()
	}
}

// Get returns the answer for a key, which is shared and may not be changed. It asks the service if it has none that is good; the
// errors are those of the operation, of ctx, and [ErrCacheClosed].
func (k *Cache[Key, Value]) Get(ctx context.Context, key Key) (*Value, error) {
	if k.conn == nil {
		if k.ctx.Err() != nil {
			return nil, ErrCacheClosed
		}
		a, err := k.source.read(ctx, k.c, key)
		if err != nil {
			return nil, err
		}
		return a.value, nil
	}
	a, f, err := k.find(key)
	switch {
	case err != nil:
		return nil, err
	case a != nil:
		return a.value, nil
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.answer.value, nil
}

// find returns what is known of a key, or else a read that is under way.
func (k *Cache[Key, Value]) find(key Key) (*answer[Value], *flight[Value], error) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil, nil, ErrCacheClosed
	}
	k.checkConnectionLocked()
	e := k.entryLocked(key)
	a, f := e.answer, (*flight[Value])(nil)
	if a == nil || !k.goodLocked(a) {
		a, f = nil, k.flightLocked(e)
	}
	gone := k.evictLocked()
	k.mu.Unlock()
	for _, sub := range gone {
		unsubscribe(sub)
	}
	return a, f, nil
}

// entryLocked is the entry of a key, as the one used last.
func (k *Cache[Key, Value]) entryLocked(key Key) *entry[Key, Value] {
	subject := k.source.subject(key)
	e, ok := k.entries[subject]
	if !ok {
		e = &entry[Key, Value]{key: key, subject: subject}
		e.place = k.used.PushFront(e)
		k.entries[subject] = e
	}
	k.used.MoveToFront(e.place)
	return e
}

// flightLocked is the read of an entry, which begins if none is under way.
func (k *Cache[Key, Value]) flightLocked(e *entry[Key, Value]) *flight[Value] {
	if e.flight == nil {
		e.flight = &flight[Value]{done: make(chan struct{})}
		k.reading[e] = struct{}{}
		k.running.Go(func() { k.fly(e) })
	}
	return e.flight
}

func (k *Cache[Key, Value]) goodLocked(a *answer[Value]) bool {
	limit := k.o.RouteCacheMaxAge
	if !a.useful {
		limit = min(limit, negativeAge)
	}
	return time.Since(a.began) < limit
}

// Forget drops the answer for a key, for a caller that has learnt that it is wrong. The next one shows everything that was
// acknowledged to anybody.
func (k *Cache[Key, Value]) Forget(key Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.entries[k.source.subject(key)]; ok {
		k.dropLocked(e)
		e.doubts++
		e.leader = true
	}
}
