package node_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// patience bounds every wait; the machine may be busy.
	patience = 90 * time.Second
	// holderEnv has the test binary be a host of the server that it names.
	holderEnv = "NODE_TEST_HOLDER"
)

// brief are times that let tests of lapsing leases end soon. They are no shorter than what a busy machine may take.
var brief = node.Options{
	LeaseTTL: 3 * time.Second, RenewInterval: 300 * time.Millisecond, RenewTimeout: time.Second, FencingMargin: 500 * time.Millisecond,
}

// service runs an instance of the service on a server until the test ends.
func service(t *testing.T, server *testenv.Node) {
	t.Helper()
	instancetest.Start(t, instance.Options{Conn: instancetest.Connect(t, server), ID: "one"})
}

// host starts a runtime with node n1 over a connection.
func host(t *testing.T, conn *nats.Conn, o node.Options) *node.Runtime {
	t.Helper()
	c, err := client.New(conn, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Client, o.Logger = c, slog.New(slog.DiscardHandler)
	r, err := node.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) }) // the servers may be down
	_ = r.PublishMeshNode(t.Context(), meshNode("n1"))     // it is published later if not now
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// A connection that is cut for longer than the lease lives, and a server that is restarted, cost the host its lease and nothing else:
// it stops admitting in time, and has everything back afterwards under a new one.
func TestHostComesBackAfterItsConnectionWasCut(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.ServerOptions{})
	service(t, server)
	look, err := client.New(server.Connect(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	proxy := testenv.Proxy(t, server.URL())
	o := brief
	o.OwnerID = "host"
	r := host(t, proxy.Connect(t, nats.ReconnectBufSize(-1)), o)
	first := r.Lifecycle()
	if _, err := r.PutSpot(t.Context(), spotRow("s1"), node.AutoIntent); err != nil {
		t.Fatal(err)
	}

	proxy.Cut()
	testenv.Eventually(t, patience, func() bool {
		reply, err := look.Leases.Read(t.Context(), wire.LeaseReadRequest{OwnerID: "host"})
		if err == nil && reply.Kind == wire.KindMissing && r.Usable() {
			t.Fatal("the host admits although its lease has lapsed")
		}
		return err == nil && reply.Kind == wire.KindMissing
	}, "the lease lapses")
	if s := r.Status(); s.StoreHealthy || s.Ready || s.LastError == "" {
		t.Errorf("got status %+v while cut off, want unhealthy", s)
	}
	proxy.Heal()
	testenv.Eventually(t, patience, func() bool {
		reply, err := look.Spots.Resolve(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"})
		return err == nil && reply.Spot != nil && reply.Spot.Live && r.Status().Ready
	}, "everything is back")
	token, err := r.Admit()
	if err != nil || token.LeaseGeneration <= first || r.Lifecycle() != first {
		t.Errorf("got %v, %v, life %d, want a later lease in life %d", token, err, r.Lifecycle(), first)
	}

	server.Restart()
	testenv.Eventually(t, patience, func() bool {
		reply, err := look.Spots.Resolve(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"})
		s := r.Status()
		return err == nil && reply.Spot != nil && reply.Spot.Live && s.Ready && s.LastError == ""
	}, "everything is there after a restart of the server")
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A process that is stopped and goes on after its lease has lapsed admits nothing, from its first instruction on; one that is killed
// leaves rows that are not live, and the next life of the same owner has another generation.
func TestProcessThatWasStoppedAdmitsNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.ServerOptions{})
	service(t, server)
	look, err := client.New(server.Connect(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clock := node.Monotonic() // the same in all processes of the machine
	p := holder(t, server.URL())
	p.await(t, func(s said) bool { return s.lease > 0 })

	p.signal(t, syscall.SIGSTOP)
	var rival *wire.LeaseClaimReply
	testenv.Eventually(t, patience, func() bool {
		rival, err = look.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: "child", TTL: 3_600_000})
		return err == nil && rival.Kind == wire.KindClaimed
	}, "a rival gets the owner of the stopped process")
	handedOn := clock()
	p.signal(t, syscall.SIGCONT)
	p.await(t, func(s said) bool { return s.at > handedOn })
	handedBack := clock()
	if _, err := look.Leases.Release(t.Context(), wire.LeaseReleaseRequest{Token: *rival.Token}); err != nil {
		t.Fatal(err)
	}
	second := p.await(t, func(s said) bool { return s.at > handedBack && s.lease > 0 })
	for _, s := range p.all() {
		if s.at > handedOn && s.at < handedBack && s.lease > 0 {
			t.Fatalf("the process admitted under lease %d, %v after another had the owner", s.lease, s.at-handedOn)
		}
	}

	p.signal(t, syscall.SIGKILL)
	testenv.Eventually(t, patience, func() bool {
		reply, err := look.MeshNodes.List(t.Context(), wire.MeshNodeListRequest{MeshName: "play"})
		return err == nil && len(reply.Items) == 1 && !reply.Items[0].Live
	}, "the node of the killed process is not live")
	again := holder(t, server.URL()).await(t, func(s said) bool { return s.lease > 0 })
	if again.lease <= second.lease {
		t.Errorf("the next life has lease %d, want one after %d", again.lease, second.lease)
	}
}

// said is what a process says of one moment.
type said struct {
	at    time.Duration // by the clock of the machine, before it asked
	lease wire.Generation
}

// process is a child process that says, over and over, whether it admits.
type process struct {
	cmd *exec.Cmd

	mu   sync.Mutex
	said []said // guarded by mu
}

// holder runs this program as a host of the owner child.
func holder(t *testing.T, url string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), holderEnv+"="+url), os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s said
			if _, err := fmt.Sscan(lines.Text(), (*int64)(&s.at), (*uint64)(&s.lease)); err != nil {
				continue // the last line of a process that was killed
			}
			p.mu.Lock()
			p.said = append(p.said, s)
			p.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		wg.Wait()
		_ = p.cmd.Wait() // it was killed
	})
	return p
}

// all is what the process has said so far.
func (p *process) all() []said {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// await waits until the process says something.
func (p *process) await(t *testing.T, what func(said) bool) (found said) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool {
		all := p.all()
		i := slices.IndexFunc(all, what)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}, "what the process is to say")
	return found
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// runHolder is the child process: it runs until it is killed, and asks every millisecond whether it may act.
func runHolder(url string) error {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	o := brief
	o.OwnerID, o.Logger = "child", slog.New(slog.DiscardHandler)
	if o.Client, err = client.New(conn, client.Options{}); err != nil {
		return err
	}
	r, err := node.New(o)
	if err != nil {
		return err
	}
	for err = r.Start(context.Background()); err != nil; err = r.Start(context.Background()) {
		if _, refused := errors.AsType[*node.ClaimError](err); !refused { // the lease of the life before has to lapse
			return err
		}
	}
	_ = r.PublishMeshNode(context.Background(), meshNode("n1")) // it is tried again
	clock := node.Monotonic()
	for range time.Tick(time.Millisecond) {
		at := clock()
		token, _ := r.Admit() // no lease is generation 0
		if _, err := fmt.Println(int64(at), uint64(token.LeaseGeneration)); err != nil {
			return err
		}
	}
	return nil
}
