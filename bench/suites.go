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
	targets  []load.Target
}

// suites returns all suites.
func suites() []suite {
	measured := []suite{r3Suite(), r1Suite(), storeSuite(), leaseSuite(), readSuite(), instancesSuite()}
	all := suite{name: "all", about: "every suite that measures the service, one after the other"}
	for _, s := range measured {
		all.tables = append(all.tables, s.tables...)
	}
	return append(measured, all, peersSuite(), natsSuite())
}

func findSuite(name string) (suite, bool) {
	for _, s := range suites() {
		if s.name == name {
			return s, true
		}
	}
	return suite{}, false
}

// start starts one subject.
type start func(ctx context.Context, g *peer.Group) (load.Subject, error)

// each makes a table's subjects of subjects that share nothing.
func each(starts ...start) func(context.Context, *peer.Group) ([]load.Subject, error) {
	return func(ctx context.Context, g *peer.Group) ([]load.Subject, error) {
		var subjects []load.Subject
		for _, s := range starts {
			subject, err := s(ctx, g)
			if err != nil {
				return nil, err
			}
			subjects = append(subjects, subject)
		}
		return subjects, nil
	}
}

// workloadOn makes a subject's workload from a constructor and the address that a peer was started at.
func workloadOn[A any](addr A, make func(A, int) load.Workload) func(callers int) load.Workload {
	return func(callers int) load.Workload { return make(addr, callers) }
}

// onEtcd is etcd with its default settings: it syncs before it answers.
func onEtcd(name string, members int, make func([]string, int) load.Workload) start {
	return func(ctx context.Context, g *peer.Group) (load.Subject, error) {
		endpoints, err := g.Etcd(ctx, members)
		return load.Subject{Name: name, New: workloadOn(endpoints, make)}, err
	}
}

// onRedis is Redis, or says that it is missing.
func onRedis(make func(string, int) load.Workload) start {
	return func(ctx context.Context, g *peer.Group) (load.Subject, error) {
		const name = "Redis, AOF always"
		addr, err := g.Redis(ctx)
		if errors.Is(err, peer.ErrNotInstalled) {
			return load.Subject{Name: name, Missing: err.Error()}, nil
		}
		return load.Subject{Name: name, New: workloadOn(addr, make)}, err
	}
}

// on is what answers at the URLs of a deployment.
func on(d deployment, name string, make func([]string, int) load.Workload) start {
	return func(ctx context.Context, g *peer.Group) (load.Subject, error) {
		urls, err := d(ctx, g)
		return load.Subject{Name: name, New: workloadOn(urls, make)}, err
	}
}
