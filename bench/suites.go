package main

import (
	"context"
	"errors"
	"slices"

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
	// maxCallers is where more callers would say nothing more: larger numbers are taken for this one. 0 means no bound.
	maxCallers int
	// subjects starts what is compared and says how to drive it. The first that is not missing is the baseline.
	subjects func(ctx context.Context, g *peer.Group) ([]load.Subject, error)
	targets  []load.Target
}

// suites returns all suites.
func suites() []suite {
	measured := []suite{
		r3Suite(), r1Suite(), storeSuite(), leaseSuite(), readSuite(), instancesSuite(),
		placeR3Suite(), placeR1Suite(), placeInstancesSuite(), objectFindSuite(), scaleSuite(), moveSuite(),
	}
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

// callers returns the numbers of callers that the table is measured at, of those asked for.
func (t table) callers(asked []int) []int {
	if t.maxCallers == 0 {
		return asked
	}
	var numbers []int
	for _, n := range asked {
		if n = min(n, t.maxCallers); !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// workloadOf makes a workload of the servers at some URLs.
type workloadOf = func(urls []string, callers int) load.Workload

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
