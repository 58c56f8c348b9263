package jetkv_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/testenv"
)

// failures are the findings that are not fine, each with what mends it.
func failures(t testing.TB, node *testenv.Node, o jetkv.Options) (all []string) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	found := jetkv.Check(within(t), node.Connect(t), o)
	if len(found) < 3 {
		t.Errorf("only %d findings: %+v", len(found), found)
	}
	for _, f := range found {
		if f.Name == "" || f.Detail == "" || (!f.OK && f.Mend == "") {
			t.Errorf("finding %+v", f)
		}
		if !f.OK {
			all = append(all, f.Name+": "+f.Mend)
		}
	}
	return all
}

func TestCheckFindsWhatHasToBeMended(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	if got := failures(t, node, o); got != nil {
		t.Errorf("before the bucket is there: %q", got)
	}
	open(t, node.Connect(t), o).stop()
	if got := failures(t, node, o); got != nil {
		t.Errorf("good bucket: %q", got)
	}
	clientDrift(t, node, o.Bucket)
	if got := strings.Join(failures(t, node, o), "\n"); !strings.Contains(got, "nats stream edit KV_"+o.Bucket) {
		t.Errorf("drifted bucket: %q", got)
	}
	small := testenv.Server(t, testenv.ServerOptions{MaxPayload: 1 << 20, MaxBatchSize: 100})
	open(t, small.Connect(t), o).stop()
	got := strings.Join(failures(t, small, o), "\n")
	for _, want := range []string{"max_payload", "max_msgs"} {
		if !strings.Contains(got, want) {
			t.Errorf("small server: %q lacks %q", got, want)
		}
	}
}

// Whoever looks without saying how many replicas there should be is not told to remove any.
func TestReplicasAreNotToBeRemoved(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	cluster := testenv.Cluster(t, 3, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), Replicas: 2}
	open(t, cluster.Connect(t), o).stop()
	o.Logger = slog.New(slog.DiscardHandler)
	edit := fmt.Sprintf("nats stream edit KV_%s --replicas 3, or give --replicas 2", o.Bucket)
	for asked, want := range map[int]string{1: "give --replicas 2 here and to 'zlink-nats serve'", 2: "", 3: edit} {
		o.Replicas = asked
		for _, f := range jetkv.Check(within(t), cluster.Connect(t), o) {
			if f.Name == "bucket "+o.Bucket && (!f.OK || f.Mend != want) {
				t.Errorf("%d asked for: %+v, want %q", asked, f, want)
			}
		}
	}
}

// That nobody answers says nothing about the stream's settings.
func TestNoAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders} {
		if !jetkv.IsUnanswered(fmt.Errorf("probe batch: %w", err)) {
			t.Errorf("%v counts as an answer", err)
		}
	}
	for _, err := range []error{nil, &jetstream.APIError{ErrorCode: 10174}} {
		if jetkv.IsUnanswered(err) {
			t.Errorf("%v counts as none", err)
		}
	}
}
