package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// rewriters is how many rows are brought back at a time: enough for the service to take them in groups, few enough to leave
	// room for others.
	rewriters = 16
	// authorityPage is the size of the pages in which authorities are looked through.
	authorityPage = 1000
	// firstPause and longestPause bound the pauses between attempts to change an authority, which double and have a random part.
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// reclaim is what is to be brought back under a fresh lease, by 15.6. Only one goroutine works on it.
type reclaim struct {
	lease  wire.OwnerToken
	listed bool // all authorities have been looked through
	told   bool // that the lease was renewed

	mu   sync.Mutex
	left map[string]bool // guarded by mu; keys of authorities that are still to be bound
	errs []error         // guarded by mu; the first ones of this pass
	more int             // guarded by mu; further errors of this pass
}

// reported is how many errors of a pass are told of one by one.
const reported = 8

func (c *reclaim) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.errs) == reported {
		c.more++
		return
	}
	c.errs = append(c.errs, err)
}

// failure is what went wrong in this pass; nil is nothing.
func (c *reclaim) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.more > 0 {
		return fmt.Errorf("%w; and %d more", errors.Join(c.errs...), c.more)
	}
	return errors.Join(c.errs...)
}

// leave notes whether an authority is still to be bound.
func (c *reclaim) leave(key string, still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = make(map[string]bool)
	}
	if still {
		c.left[key] = true
	} else {
		delete(c.left, key)
	}
}

// bringBack makes one pass over what a fresh claim has to bring back once the descriptors have been sent. What fails is left to the
// next pass.
func (r *Runtime) bringBack(ctx context.Context) {
	c := r.dueReclaim()
	if c == nil {
		return
	}
	c.errs, c.more = nil, 0
	if r.publishedUnder(c.lease) {
		r.bindAll(ctx, c)
	}
	r.rewriteAll(ctx, c)
	if ctx.Err() != nil {
		return
	}
	err := c.failure()
	if err != nil {
		r.o.Logger.Warn("bring back", "owner", c.lease.OwnerID, "gen", uint64(c.lease.LeaseGeneration), "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.lastError = err.Error()
	}
	if r.reclaim != c {
		return // there is another lease by now
	}
	if !c.told {
		c.told = true
		r.events.tell(Event{Kind: EventOwnerLeaseRenewed})
	}
	if c.listed && err == nil && len(c.left) == 0 {
		r.reclaim = nil
	}
}

func (r *Runtime) dueReclaim() *reclaim {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reclaim == nil || r.reclaim.lease != r.token {
		return nil
	}
	return r.reclaim
}

// publishedUnder tells whether the descriptors of nodes are stored under a lease, without which nothing can be bound to it.
func (r *Runtime) publishedUnder(lease wire.OwnerToken) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, p := range r.published {
		if k.Kind == KindMeshNode && p.wish != nil && !p.malformed && !p.exhausted && p.lease != lease.LeaseGeneration {
			return false
		}
	}
	return true
}

// bindAll binds every authority of the owner to the fresh lease that is not bound to it.
func (r *Runtime) bindAll(ctx context.Context, c *reclaim) {
	if !r.serves() {
		return // no node of this host takes any object now, not even its own
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(rewriters)
	if c.listed {
		for _, key := range c.leftKeys() {
			g.Go(func() error { r.bindKey(ctx, c, key); return nil })
		}
		_ = g.Wait() // none fails
		return
	}
	err := r.eachAuthority(ctx, func(a *wire.Authority) {
		if r.toBind(c, a) {
			g.Go(func() error { r.bind(ctx, c, a); return nil })
		}
	})
	_ = g.Wait() // none fails
	if err != nil {
		c.fail(err)
		return
	}
	c.listed = true
}

func (c *reclaim) leftKeys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]string, 0, len(c.left))
	for key := range c.left {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// eachAuthority goes through all authorities; when the list is lost, from the beginning.
func (r *Runtime) eachAuthority(ctx context.Context, do func(*wire.Authority)) error {
	for {
		var failure error
		for item, err := range r.o.Client.Authorities.All(ctx, wire.AuthorityListRequest{Limit: authorityPage}) {
			if failure = err; err == nil {
				do(&item.Snapshot)
			}
		}
		if errors.Is(failure, client.ErrScanExpired) && ctx.Err() == nil {
			r.asked(OpRead, nil)
			continue
		}
		r.asked(OpRead, failure)
		if failure != nil {
			return fmt.Errorf("list authorities: %w", failure)
		}
		return nil
	}
}

// toBind tells whether an authority is one of the host's that can be bound to the lease: active, on a node that serves, and placed
// there in this life.
func (r *Runtime) toBind(c *reclaim, a *wire.Authority) bool {
	if a.Kind == wire.KindMissing || a.OwnerID != c.lease.OwnerID || a.OwnerLeaseGeneration == c.lease.LeaseGeneration ||
		a.Allocation == nil || a.Allocation.State != wire.AllocationActive {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.published[MeshNodeKey(a.Allocation.Descriptor.MeshName, a.Allocation.Descriptor.RID)]
	return p != nil && p.lease == c.lease.LeaseGeneration && p.state == wire.StateServing &&
		a.Allocation.DescriptorLifecycleGeneration == r.lifecycle
}

// serves tells whether any node of the host takes objects.
func (r *Runtime) serves() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, p := range r.published {
		if k.Kind == KindMeshNode && p.lease != 0 && p.state == wire.StateServing {
			return true
		}
	}
	return false
}

// bindKey binds an authority that an earlier pass has left.
func (r *Runtime) bindKey(ctx context.Context, c *reclaim, text string) {
	key, err := wire.ParseObjectKey(text)
	if err != nil {
		c.fail(fmt.Errorf("bind %s: %w", text, err))
		return
	}
	a, err := r.o.Client.Authorities.Read(ctx, wire.AuthorityReadRequest{Key: key})
	r.asked(OpRead, err)
	switch {
	case err != nil:
		c.fail(fmt.Errorf("bind %s: %w", text, err))
	case r.toBind(c, a):
		r.bind(ctx, c, a)
	default:
		c.leave(text, false)
	}
}

// bind binds an authority to the fresh lease. A conflict with another writer is resolved by trying again on what is there then.
func (r *Runtime) bind(ctx context.Context, c *reclaim, a *wire.Authority) {
	text := a.Key
	for tries := 0; ; tries++ {
		if tries > 0 && !pause(ctx, tries) {
			c.leave(text, true)
			return
		}
		current, err := r.bindOnce(ctx, c, a)
		switch {
		case err != nil:
			c.leave(text, true)
			c.fail(fmt.Errorf("bind %s: %w", text, err))
			return
		case current == nil:
			r.events.tell(Event{Kind: EventObjectBound, Object: text, Token: c.lease})
			c.leave(text, false)
			return
		case !r.toBind(c, current):
			c.leave(text, false)
			return
		case current.StoreVersion == a.StoreVersion:
			c.leave(text, true) // locked, most likely: the next heartbeat looks again
			return
		}
		a = current
	}
}

// bindOnce sends the change; of a conflict it returns what is there now.
func (r *Runtime) bindOnce(ctx context.Context, c *reclaim, a *wire.Authority) (*wire.Authority, error) {
	payload := a.Payload
	if r.o.RewritePayload != nil {
		var err error
		if payload, err = r.o.RewritePayload(ctx, a); err != nil {
			return nil, fmt.Errorf("rewrite the payload: %w", err)
		}
	}
	if payload == nil {
		payload = wire.Bytes{}
	}
	key, err := wire.ParseObjectKey(a.Key)
	if err != nil {
		return nil, err
	}
	reply, err := r.exchange(ctx, c.lease, wire.AuthorityCompareExchangeRequest{
		Key: key, ExpectedStoreVersion: a.StoreVersion,
		Mutation: wire.AuthorityMutation{
			Kind: wire.AuthorityRebind, Payload: payload, TargetOwner: &c.lease,
			ExpectedOwner: &wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: a.OwnerLeaseGeneration},
		},
	})
	switch {
	case err != nil:
		return nil, err
	case reply.Kind == wire.KindConflict:
		return reply.Current, nil
	case reply.Kind != wire.KindStored:
		return nil, errors.New(string(reply.Kind))
	}
	return nil, nil //nolint:nilnil // stored: there is nothing to look at
}

// pause waits before the next attempt, and tells whether there is to be one.
func pause(ctx context.Context, tries int) bool {
	longest := min(firstPause<<min(tries, 16), longestPause)
	t := time.NewTimer(longest/2 + rand.N(longest/2))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// CompareExchange changes an authority of the host, as [client.Authorities.CompareExchange] does, if the lease may be relied on:
// [ErrNotLeased].
func (r *Runtime) CompareExchange(ctx context.Context, request wire.AuthorityCompareExchangeRequest) (*wire.AuthorityCompareExchangeReply, error) {
	token, err := r.Admit()
	if err != nil {
		return nil, fmt.Errorf("authority.compare-exchange: %w", err)
	}
	return r.exchange(ctx, token, request)
}

// exchange sends a change while a lease may be relied on.
func (r *Runtime) exchange(ctx context.Context, lease wire.OwnerToken, request wire.AuthorityCompareExchangeRequest) (*wire.AuthorityCompareExchangeReply, error) {
	ctx, done, err := r.writing(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if now, err := r.Admit(); err != nil || now != lease {
		return nil, ErrNotLeased
	}
	reply, err := r.o.Client.Authorities.CompareExchange(ctx, request)
	r.asked(OpCompareExchange, err)
	return reply, err
}

// rewriteAll writes the rows again that were stored under another lease.
func (r *Runtime) rewriteAll(ctx context.Context, c *reclaim) {
	due := func(t tracked, now wire.OwnerToken) bool {
		return now == c.lease && t.lease != now.LeaseGeneration && t.tried != now.LeaseGeneration
	}
	for _, kind := range []Kind{KindPeer, KindSpot, KindActor, KindRoute} {
		var g errgroup.Group
		g.SetLimit(rewriters)
		for _, key := range r.dueRows(kind, c.lease, due) {
			g.Go(func() error {
				if _, err := r.rewrite(ctx, key, due); err != nil {
					c.fail(err)
				}
				return nil
			})
		}
		_ = g.Wait() // none fails
	}
}

func (r *Runtime) dueRows(kind Kind, lease wire.OwnerToken, due func(tracked, wire.OwnerToken) bool) []Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []Key
	for key, t := range r.rows[kind] {
		if due(*t, lease) {
			keys = append(keys, key)
		}
	}
	return keys
}
