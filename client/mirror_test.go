package client_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// held is what a watch has told of a row.
type held struct {
	Version wire.Version
	Live    bool
}

// mirror keeps what a watch tells, and checks that it tells everything in order.
type mirror[K comparable, R any] struct {
	t       testing.TB
	version func(*R) wire.Version
	owner   func(*R) string

	mu      sync.Mutex
	rows    map[K]held               // guarded by mu
	owners  map[K]string             // guarded by mu; of each row
	last    map[K]wire.Revision      // guarded by mu; of the last event about a row
	latest  wire.Revision            // guarded by mu; of any event
	synced  bool                     // guarded by mu
	listing map[K]struct{}           // guarded by mu; keys of the list so far
	types   map[client.EventType]int // guarded by mu
	err     error                    // guarded by mu; that ended the watch
}

// reflect follows a watch until the test ends. gate, if not nil, is received from before each event.
func reflect[K comparable, R any](t testing.TB, watch func(context.Context) iter.Seq2[client.Event[K, R], error], version func(*R) wire.Version, owner func(*R) string, gate <-chan struct{}) *mirror[K, R] {
	m := &mirror[K, R]{t: t, version: version, owner: owner, types: make(map[client.EventType]int)}
	m.clear()
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() {
		for e, err := range watch(ctx) {
			if gate != nil {
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
			m.apply(e, err)
		}
	})
	t.Cleanup(func() { cancel(); following.Wait() })
	return m
}

func (m *mirror[K, R]) clear() {
	m.rows, m.owners, m.last, m.listing = make(map[K]held), make(map[K]string), make(map[K]wire.Revision), make(map[K]struct{})
	m.latest, m.synced = 0, false
}

func (m *mirror[K, R]) apply(e client.Event[K, R], err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.err = err
		return
	}
	m.types[e.Type]++
	switch e.Type {
	case client.EventResync:
		m.clear()
		return
	case client.EventSynced:
		m.synced = true
	case client.EventListed:
		if m.synced {
			m.t.Errorf("row %v listed after synced", e.Key)
		}
		if _, twice := m.listing[e.Key]; twice {
			m.t.Errorf("row %v listed twice", e.Key)
		}
		m.listing[e.Key] = struct{}{}
	}
	if e.Revision < m.latest {
		m.t.Errorf("%s of %v at revision %d after revision %d", e.Type, e.Key, e.Revision, m.latest)
	}
	m.latest = e.Revision
	switch e.Type {
	case client.EventUpserted, client.EventRemoved, client.EventExpired:
		if e.OwnerID == "" && e.Revision <= m.last[e.Key] {
			m.t.Errorf("%s of %v at revision %d after one at %d", e.Type, e.Key, e.Revision, m.last[e.Key])
		}
		m.last[e.Key] = e.Revision
	}
	m.change(e)
}

func (m *mirror[K, R]) change(e client.Event[K, R]) {
	switch e.Type {
	case client.EventListed, client.EventUpserted:
		m.rows[e.Key], m.owners[e.Key] = held{m.version(e.Row), e.Live}, m.owner(e.Row)
	case client.EventRemoved:
		delete(m.rows, e.Key)
	case client.EventExpired:
		for k, r := range m.rows {
			if k == e.Key && e.OwnerID == "" || e.OwnerID != "" && m.owners[k] == e.OwnerID {
				m.rows[k] = held{r.Version, false}
			}
		}
	}
}

func (m *mirror[K, R]) state() (map[K]held, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.rows), m.err
}

func (m *mirror[K, R]) count(e client.EventType) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.types[e]
}

func (m *mirror[K, R]) awaitEvent(e client.EventType, n int) {
	m.t.Helper()
	testenv.Eventually(m.t, patience, func() bool { return m.count(e) >= n }, "events", e)
}

// awaitState waits until the mirror shows what a list does.
func (m *mirror[K, R]) awaitState(list func() (map[K]held, error)) {
	m.t.Helper()
	var diff string
	testenv.Eventually(m.t, patience, func() bool {
		want, err := list()
		got, ended := m.state()
		if err != nil || ended != nil {
			diff = fmt.Sprint(err, ended)
			return false
		}
		diff = cmp.Diff(want, got)
		return diff == ""
	}, lazy(func() string { return "the watch shows what the list does: " + diff }))
}

// lazy is a text that is made when it is printed.
type lazy func() string

func (l lazy) String() string { return l() }
