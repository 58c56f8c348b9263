package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
)

func TestListNamesEverySuiteOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"-list"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, s := range suites() {
		if strings.Count("\n"+out.String(), "\n"+s.name+" ") != 1 {
			t.Errorf("suite %q is not listed exactly once:\n%s", s.name, out.String())
		}
		if got, ok := findSuite(s.name); !ok || got.about != s.about {
			t.Errorf("suite %q is not found by its name", s.name)
		}
	}
}

func TestParseReadsCallers(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-callers", "1, 64"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o.callers, []int{1, 64}); diff != "" {
		t.Errorf("got (-) and want (+) differ:\n%s", diff)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why  string
		args []string
	}{
		{"a suite that is not there", []string{"-suite", "none"}},
		{"no suite: which one is not guessed", nil},
		{"0 callers do nothing", []string{"-suite", "nats", "-callers", "0"}},
		{"callers that are no number", []string{"-suite", "nats", "-callers", "1,x"}},
		{"an argument that no flag takes", []string{"-suite", "nats", "more"}},
		{"an unknown flag", []string{"-fast"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := run(t.Context(), tt.args, &out, io.Discard); err == nil {
				t.Error("got no error")
			}
			if out.Len() > 0 {
				t.Errorf("got output %q, want none", out.String())
			}
		})
	}
}

func TestEveryTableHasATitleOfItsOwn(t *testing.T) {
	t.Parallel()
	all, _ := findSuite("all")
	titles := map[string]bool{}
	for _, table := range all.tables {
		if titles[table.title] {
			t.Errorf("two tables are called %q", table.title)
		}
		titles[table.title] = true
	}
}

func TestTableBoundsItsCallers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why         string
		maxCallers  int
		asked, want []int
	}{
		{"no bound: as asked", 0, []int{64, 1, 256}, []int{64, 1, 256}},
		{"larger numbers become the bound, once", 64, []int{1, 64, 256, 512}, []int{1, 64}},
		{"there is always one", 1, []int{64}, []int{1}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(table{maxCallers: tt.maxCallers}.callers(tt.asked), tt.want); diff != "" {
				t.Errorf("got (-) and want (+) differ:\n%s", diff)
			}
		})
	}
}

func TestEveryTargetIsMeasured(t *testing.T) {
	t.Parallel()
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := findSuite("all")
	for _, table := range all.tables {
		for _, target := range table.targets {
			if !slices.Contains(table.callers(o.callers), target.Callers) {
				t.Errorf("%s: a target for %d callers, which are not measured", table.title, target.Callers)
			}
		}
	}
}

// idle is a workload without a peer.
type idle struct{}

func (idle) Setup(context.Context) error   { return nil }
func (idle) Op(context.Context, int) error { return nil }
func (idle) Close() error                  { return nil }

func TestMeasureReportsWhatSurroundsAFailure(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("broken")
	alone := func(context.Context, *peer.Group) (load.Subject, error) {
		return load.Subject{Name: "idle", New: func(int) load.Workload { return idle{} }}, nil
	}
	s := suite{name: "s", about: "a test", tables: []table{
		{title: "Good", subjects: each(alone), targets: []load.Target{{Subject: "idle", Callers: 1, MinThroughput: 0.5}}},
		{title: "Bad", subjects: func(context.Context, *peer.Group) ([]load.Subject, error) { return nil, errBroken }},
		{title: "Later", subjects: each(alone)},
	}}
	dir := t.TempDir()
	o := options{callers: []int{1, 2}, plan: load.Plan{Duration: time.Millisecond, Rounds: 1}, dir: dir}
	var report strings.Builder
	err := measure(t.Context(), &report, s, o, "go run .", io.Discard)
	if !errors.Is(err, errBroken) {
		t.Errorf("got error %v, want %v", err, errBroken)
	}
	for _, want := range []string{
		"# Suite s: a test", "## Good", "| 1 | idle |", "| 2 | idle |", "ops/s >= 0.5x: met", "Not measured to the end: `broken`", "## Later",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, report.String())
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("measuring left %v, want nothing", left)
	}
}

func TestMain(m *testing.M) {
	peer.ServeChild()
	os.Exit(m.Run())
}
