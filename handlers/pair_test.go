package handlers_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// pair is two instances over one bucket. Its fixture's clock and store are not used.
type pair struct {
	*fixture
	stores [2]*jetkv.Store
}

var pairIDs = [2]string{"one", "two"}

// onPairs runs a test on one server, and unless the tests are to be short on three.
func onPairs(t *testing.T, test func(*testing.T, *pair)) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("R%d", replicas), func(t *testing.T) {
			t.Parallel()
			if replicas == 1 {
				node := testenv.Server(t, testenv.ServerOptions{})
				test(t, startPair(t, replicas, nil, node, node))
				return
			}
			if testing.Short() {
				t.Skip("starts three servers")
			}
			cluster := testenv.Cluster(t, replicas, testenv.ServerOptions{})
			test(t, startPair(t, replicas, nil, cluster.Node(0), cluster.Node(1)))
		})
	}
}

// startPair starts one instance on each of two servers, which may be one. edit may be nil.
func startPair(t *testing.T, replicas int, edit func(*handlers.Options), nodes ...*testenv.Node) *pair {
	t.Helper()
	p := &pair{fixture: &fixture{t: t, node: nodes[0], client: nodes[0].Connect(t), log: new(logs)}}
	for i, id := range pairIDs {
		p.stores[i] = openStore(t, nodes[i], id, func(o *jetkv.Options) { o.Replicas = replicas })
		s := p.serve(id, p.stores[i], func(o *handlers.Options) {
			if o.Conn = nodes[i].Connect(t); edit != nil {
				edit(o)
			}
		})
		if i == 0 {
			p.Service = s
		}
		p.reach(id)
	}
	return p
}

// reach waits until the client's server knows of the subscriptions of an instance, which may be on another one.
func (f *fixture) reach(id string) {
	f.t.Helper()
	subject := subjects.DefaultPrefix.Instance(id, subjects.StatusGet)
	testenv.Eventually(f.t, patience, func() bool {
		_, err := f.client.Request(subject, nil, patience)
		return !errors.Is(err, nats.ErrNoResponders)
	}, "way to instance", id)
}

// to sends a request to the i-th instance, as callers are spread over the two.
func (p *pair) to(i int, op subjects.Operation, req any) answer {
	p.t.Helper()
	return p.send(subjects.DefaultPrefix.Instance(pairIDs[i%2], op), []byte(payload(p.t, req)), nil)
}

// view is what an instance has once it has seen the last commit.
func (p *pair) view(i int) kvstore.View {
	p.t.Helper()
	v, err := p.stores[i].View(p.t.Context(), kvstore.ReadOptions{Leader: true})
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// race lets callers call at once and counts what they were answered.
func race(callers int, call func(int) string) map[string]int {
	answers := make([]string, callers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { <-start; answers[i] = call(i) })
	}
	close(start)
	wg.Wait()
	counts := make(map[string]int)
	for _, a := range answers {
		counts[a]++
	}
	return counts
}
