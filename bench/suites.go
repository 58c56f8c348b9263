package main

import (
	"context"
	"errors"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
)

// suite is a named set of tables. A file suite_<name>.go defines each; [suites] lists them.
type suite struct {
	name   string
	about  string // one line
	tables []table
}

// table is one comparison, measured at every number of callers.
type table struct {
	title string
	// subjects starts what is compared and says how to drive it. The first that is not missing is the baseline.
	subjects func(ctx context.Context, g *peer.Group) ([]load.Subject, error)
}

// suites returns all suites.
func suites() []suite {
	return []suite{peersSuite(), natsSuite()}
}

func findSuite(name string) (suite, bool) {
	for _, s := range suites() {
		if s.name == name {
			return s, true
		}
	}
	return suite{}, false
}

// workloadOn makes a subject's workload from a constructor and the address that a peer was started at.
func workloadOn[A any](addr A, make func(A, int) load.Workload) func(callers int) load.Workload {
	return func(callers int) load.Workload { return make(addr, callers) }
}

// etcdSubject starts etcd.
func etcdSubject(ctx context.Context, g *peer.Group, name string, members int, make func([]string, int) load.Workload) (load.Subject, error) {
	endpoints, err := g.Etcd(ctx, members)
	return load.Subject{Name: name, New: workloadOn(endpoints, make)}, err
}

// redisSubject starts Redis, or says that it is missing.
func redisSubject(ctx context.Context, g *peer.Group, make func(string, int) load.Workload) (load.Subject, error) {
	const name = "Redis, AOF always"
	addr, err := g.Redis(ctx)
	if errors.Is(err, peer.ErrNotInstalled) {
		return load.Subject{Name: name, Missing: err.Error()}, nil
	}
	return load.Subject{Name: name, New: workloadOn(addr, make)}, err
}

// natsSubject starts NATS.
func natsSubject(ctx context.Context, g *peer.Group, name string, o peer.NATSOptions, make func([]string, int) load.Workload) (load.Subject, error) {
	urls, err := g.NATS(ctx, o)
	return load.Subject{Name: name, New: workloadOn(urls, make)}, err
}
