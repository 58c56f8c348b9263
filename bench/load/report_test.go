package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/bench/load"
)

func TestWriteTable(t *testing.T) {
	t.Parallel()
	comparisons := []load.Comparison{{Callers: 64, Rows: []load.Row{
		{Subject: "gone", Missing: "not installed"},
		{
			Subject: "base", Throughput: 1234567.4, P50: 25 * time.Microsecond, P95: 1240 * time.Microsecond,
			P99: 2050 * time.Millisecond, ThroughputRatio: 1, P50Ratio: 1, P99Ratio: 1,
		},
		{Subject: "other", Throughput: 999, Errors: 3, FirstError: errRefused, ThroughputRatio: 0.456, P50Ratio: 2, P99Ratio: 3},
	}}}
	want := `## Title

| callers | subject | ops/s | p50 | p95 | p99 | errors | ops/s ratio | p50 ratio | p99 ratio | target |
|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
| 64 | gone | not installed | | | | | | | | |
| 64 | base | 1,234,567 | 25 us | 1.24 ms | 2.05 s | 0 | 1.00 | 1.00 | 1.00 |  |
| 64 | other | 999 | 0 us | 0 us | 0 us | 3 | 0.46 | 2.00 | 3.00 | ops/s >= 0.4x: met, p50 <= 1.5x: missed, p99 <= 3x: met |

Ratios are to base in the same round; every figure is the median over the rounds.

Failures, one of each row:

- other, 64 callers: ` + "`refused`" + `

`
	targets := []load.Target{
		{Subject: "gone", Callers: 64, MinThroughput: 1},
		{Subject: "other", Callers: 1, MinThroughput: 9},
		{Subject: "other", Callers: 64, MinThroughput: 0.4, MaxP50: 1.5, MaxP99: 3},
	}
	var got strings.Builder
	if err := load.WriteTable(&got, "Title", comparisons, targets); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.String(), want); diff != "" {
		t.Errorf("got (-) and want (+) differ:\n%s", diff)
	}
}

func TestHeaderSaysWhatWasRunAndWhere(t *testing.T) {
	t.Parallel()
	m, err := load.Describe(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m.Versions = []string{"etcd v3"}
	var got strings.Builder
	if err := load.WriteHeader(&got, "go run .", load.Plan{Duration: time.Second, Rounds: 3}, m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`go run .`", "1s counted", "3 rounds", m.CPU, m.Kernel, m.Go, "etcd v3", m.Date.Format(time.DateOnly)} {
		if want == "" || !strings.Contains(got.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, got.String())
		}
	}
}

func TestDescribeNeedsTheFolder(t *testing.T) {
	t.Parallel()
	if _, err := load.Describe(t.TempDir() + "/none"); err == nil {
		t.Error("got no error for a folder that is not there: the cost of a sync would be unknown")
	}
}
