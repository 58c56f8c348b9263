package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// journal is the log of a service in this process.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// onCluster is a service of three replicas on servers of a cluster.
func onCluster(url string, patient time.Duration) *config.Config {
	c := &config.Config{
		HTTP: config.Off, StartupTimeout: patient, RequestTimeout: time.Second, AwaitTimeout: time.Second,
		ShutdownTimeout: time.Second, ChangesRetention: time.Minute,
	}
	c.Server, c.Timeout, c.Prefix, c.Bucket, c.Replicas = url, 5*time.Second, string(subjects.DefaultPrefix), "zlink", 3
	return c
}

// started runs a service on servers of a cluster until the test ends. It returns its log and how
// it ended.
func started(t *testing.T, url string, patient time.Duration) (*journal, <-chan error) {
	t.Helper()
	c := onCluster(url, patient)
	ctx, cancel := context.WithCancel(t.Context())
	log, ended, done := new(journal), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- serve(ctx, c, slog.New(slog.NewTextHandler(log, nil)))
	}()
	t.Cleanup(func() { cancel(); <-done })
	return log, ended
}

func logged(t *testing.T, log *journal, text string) {
	t.Helper()
	testenv.Eventually(t, 2*patience, func() bool { return strings.Contains(log.String(), text) }, text, "in the log")
}

// A cluster that starts has no leader for a while.
func TestServiceWaitsForItsCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster takes seconds")
	}
	cluster := testenv.Cluster(t, 3, testenv.ServerOptions{})
	cluster.StopNode(1)
	cluster.StopNode(2)
	up := cluster.Node(0).URL()
	_, ended := started(t, up, 0)
	select {
	case err := <-ended:
		if !isTemporary(err) { // no leader, or one that has not noticed yet that it is alone
			t.Errorf("given no time to wait, it ended with %v", err)
		}
	case <-time.After(2 * patience):
		t.Error("given no time to wait, it waits all the same")
	}
	log, ended := started(t, up, time.Hour)
	logged(t, log, "the NATS server is not ready")
	cluster.StartNode(1)
	logged(t, log, "msg=ready")
	select {
	case err := <-ended:
		t.Errorf("ended: %v", err)
	default:
	}
}

// A server that hangs takes connections and says nothing.
func TestServiceThatConnectsCanBeStopped(t *testing.T) {
	t.Parallel()
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	url := "nats://" + hanging.Addr().String()
	c := onCluster(url+","+url+"/2", time.Hour) // two servers, as far as the library knows
	c.Timeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, c, slog.New(slog.DiscardHandler)) }()
	conn, err := hanging.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("it goes on connecting")
	}
}

func TestOpeningIsTriedUntilItSucceedsOrCannot(t *testing.T) {
	t.Parallel()
	noPeers := fmt.Errorf("create bucket: %w", &jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers for placement"})
	drift := errors.New("settings")
	l := &link{Conn: testenv.Server(t, testenv.ServerOptions{}).Connect(t)}
	for name, test := range map[string]struct {
		results []error // of the attempts
		want    error
		until   time.Time
		cancel  bool
	}{
		"peers come":                  {[]error{noPeers, noPeers, nil}, nil, time.Now().Add(time.Hour), false},
		"settings do not":             {[]error{noPeers, drift}, drift, time.Now().Add(time.Hour), false},
		"time is over":                {[]error{noPeers}, noPeers, time.Now(), false},
		"a single server has nothing": {[]error{nats.ErrNoResponders}, nats.ErrNoResponders, time.Now().Add(time.Hour), false},
		"told to stop":                {[]error{noPeers}, noPeers, time.Now().Add(time.Hour), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			log, r := new(journal), new(running)
			o := &opening{until: test.until, link: l, log: slog.New(slog.NewTextHandler(log, nil)), why: &r.waiting}
			tries := 0
			err := o.try(ctx, func(context.Context) error {
				tries++
				if test.cancel {
					cancel()
				}
				return test.results[tries-1]
			})
			if !errors.Is(err, test.want) || tries != len(test.results) {
				t.Errorf("got %v after %d tries, want %v after %d", err, tries, test.want, len(test.results))
			}
			if got, want := strings.Count(log.String(), "not ready"), len(test.results)-1; got != want {
				t.Errorf("%d lines in the log, want %d:\n%s", got, want, log)
			}
			told := r.obstacle().Error()
			if err == nil && told != "starting: no requests are taken yet" || err != nil && !strings.HasSuffix(told, err.Error()) {
				t.Errorf("others are told %q", told)
			}
		})
	}
}

func TestWhatWaitingMends(t *testing.T) {
	t.Parallel()
	code := func(c jetstream.ErrorCode) error {
		return fmt.Errorf("create bucket: %w", &jetstream.APIError{ErrorCode: c})
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no suitable peers":    {code(10005), true},
		"no meta leader":       {code(10008), true},
		"stream without most":  {code(10118), true},
		"no answer":            {fmt.Errorf("look up bucket: %w", context.DeadlineExceeded), true},
		"connection lost":      {nats.ErrReconnectBufExceeded, true},
		"no commit in time":    {fmt.Errorf("probe: %w", kvstore.ErrDeadline), true},
		"no cluster":           {code(10074), false}, // replicas on a single server
		"no room":              {code(10023), false},
		"settings":             {errors.New("stream KV_zlink has settings that the directory cannot work with"), false},
		"store closed":         {kvstore.ErrClosed, false},
		"stream of another":    {fmt.Errorf("x: %w", jetstream.ErrStreamNameAlreadyInUse), false},
		"jetstream turned off": {jetstream.ErrJetStreamNotEnabledForAccount, false},
	} {
		if got := isTemporary(test.err); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
