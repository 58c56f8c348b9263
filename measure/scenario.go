package measure

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Name names a scenario.
type Name string

// The scenarios.
const (
	Place   Name = "place"   // reserve and commit an object on a node that the service chooses; it is deleted outside of the time
	Resolve Name = "resolve" // find one of 1,000 objects
	Lease   Name = "lease"   // renew an owner's lease
	Watch   Name = "watch"   // from a write to each of the subscribers of its change
)

// New returns a scenario of that name over some connections, at least one, which stay the caller's. An empty prefix is
// [subjects.DefaultPrefix].
func New(name Name, conns []*nats.Conn, prefix subjects.Prefix) (Scenario, error) {
	prefix = cmp.Or(prefix, subjects.DefaultPrefix)
	clients := make([]*client.Client, len(conns))
	for i, nc := range conns {
		var err error
		if clients[i], err = client.New(nc, client.Options{Prefix: prefix}); err != nil {
			return nil, err
		}
	}
	f := newFleet(clients)
	switch name {
	case Place:
		return &place{fleet: f}, nil
	case Resolve:
		return &resolve{fleet: f}, nil
	case Lease:
		return &lease{fleet: f}, nil
	case Watch:
		return &watch{fleet: f, conns: conns, prefix: prefix}, nil
	}
	return nil, fmt.Errorf("no scenario %q", name)
}

// place is the scenario [Place].
type place struct {
	*fleet
	last atomic.Uint64 // number of the latest object
}

func (s *place) Workers(asked int) int { return asked }

func (s *place) Prepare(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.publish(ctx)
}

func (s *place) Do(ctx context.Context, worker int, due time.Time, record func(time.Duration)) error {
	c := s.client(worker)
	r, err := s.create(ctx, c, s.name+"-"+strconv.FormatUint(s.last.Add(1), 10))
	if err != nil {
		return err
	}
	record(time.Since(due))
	return s.destroy(ctx, c, r)
}

// resolve is the scenario [Resolve].
type resolve struct {
	*fleet
	last atomic.Uint64
}

// population is how many objects are found, one after the other, and creators how many of them are created at a time.
const (
	population = 1000
	creators   = 16
)

func (s *resolve) id(n uint64) string { return s.name + "-" + strconv.FormatUint(n%population, 10) }

func (s *resolve) Workers(asked int) int { return asked }

func (s *resolve) Prepare(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := s.publish(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for n := range uint64(population) {
		g.Go(func() error {
			_, err := s.create(ctx, s.client(int(n)), s.id(n))
			return err
		})
	}
	return g.Wait()
}

func (s *resolve) Do(ctx context.Context, worker int, due time.Time, record func(time.Duration)) error {
	id := s.id(s.last.Add(1))
	r, err := s.client(worker).Objects.Find(ctx, wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: id})
	switch {
	case err != nil:
		return err
	case r.Entry == nil || r.Entry.State != wire.EntryReady:
		return fmt.Errorf("find %q: %s", id, r.Kind)
	}
	record(time.Since(due))
	return nil
}

// lease is the scenario [Lease]: each worker renews the lease of an owner of its own.
type lease struct {
	*fleet
	tokens sync.Map // worker -> wire.OwnerToken
}

func (s *lease) Workers(asked int) int { return asked }

func (s *lease) Prepare(context.Context) error { return nil }

func (s *lease) Do(ctx context.Context, worker int, due time.Time, record func(time.Duration)) error {
	ttl := wire.Millis(leaseTTL.Milliseconds())
	if known, ok := s.tokens.Load(worker); ok {
		r, err := s.client(worker).Leases.Renew(ctx, wire.LeaseRenewRequest{Token: known.(wire.OwnerToken), TTL: ttl})
		switch {
		case err != nil:
			return err
		case r.Kind != wire.KindRenewed:
			s.tokens.Delete(worker)
			return fmt.Errorf("renew: %s", r.Kind)
		}
		record(time.Since(due))
		return nil
	}
	owner := s.name + "-" + strconv.Itoa(worker)
	r, err := s.client(worker).Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: owner, TTL: ttl})
	switch {
	case err != nil:
		return err
	case r.Token == nil:
		return fmt.Errorf("claim of owner %q: %s", owner, r.Kind)
	}
	s.tokens.Store(worker, *r.Token)
	return nil
}

func (s *lease) Remove(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for worker, known := range s.tokens.Range {
		g.Go(func() error {
			_, err := s.client(worker.(int)).Leases.Release(ctx, wire.LeaseReleaseRequest{Token: known.(wire.OwnerToken)})
			return err
		})
	}
	return g.Wait()
}
