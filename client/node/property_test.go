package node_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/wire"
)

var (
	schedules = flag.Int("schedules", 18, "random schedules of holders and rivals to try")
	firstSeed = flag.Uint64("seed", 1, "seed of the first schedule")
)

// A holder stops admitting before the directory may hand its objects on, in every schedule: at no instant does it admit while the
// store says that its lease is not live. Requests and replies are late, lost or carried out long after everybody has given them up;
// the holder stands still now and then; its clock and the store's run apart; a rival claims the owner whenever it can.
func TestHolderStopsAdmittingBeforeTheDirectoryHandsItsObjectsOn(t *testing.T) {
	t.Parallel()
	var admitted, refused int
	for seed := range uint64(*schedules) {
		synctest.Test(t, func(t *testing.T) {
			s := newSchedule(t, *firstSeed+seed)
			s.run()
			admitted, refused = admitted+s.admitted, refused+s.refused
		})
	}
	if admitted == 0 || refused == 0 {
		t.Errorf("admitted at %d instants and refused at %d: the schedules show nothing", admitted, refused)
	}
}

// schedule is a history of one holder and one rival.
type schedule struct {
	t    *testing.T
	rand *rand.Rand
	w    *world
	host *driftingClock
	r    *node.Runtime
	mode int // 0: requests arrive; 1: they go wrong at random; 2: nothing gets through

	admitted, refused int
}

// driftingClock is a clock that is faster or slower than that of the bubble, and that jumps when the process stood still.
type driftingClock struct {
	hostClock
	rate float64
}

func (c *driftingClock) now() time.Duration {
	return time.Duration(float64(time.Since(c.start))*c.rate) + time.Duration(c.stood.Load())
}

// drift is how much a clock is off at most: the margins of these tests are more than what both together make in a time to live.
const drift = 0.1

func newSchedule(t *testing.T, seed uint64) *schedule {
	t.Helper()
	s := &schedule{t: t, rand: rand.New(rand.NewPCG(seed, 0)), w: newWorld(t)}
	s.w.clock.rate = 1 + drift*float64(seed%3) - drift
	s.host = &driftingClock{hostClock: hostClock{start: time.Now()}, rate: 1 + drift*float64(seed/3%3) - drift}
	s.w.line.on(s.fault, everything...)
	options := node.Options{Clock: s.host.now}
	if s.rand.IntN(3) == 0 { // the tightest times that are allowed
		options.LeaseTTL, options.RenewInterval, options.RenewTimeout, options.FencingMargin = 2*time.Second, 400*time.Millisecond, 500*time.Millisecond, 900*time.Millisecond
	}
	s.r = s.w.runtime(options)
	return s
}

// fault is what happens to a request.
func (s *schedule) fault(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
	s.w.mu.Lock()
	kind, out, back := 0, s.delay(), s.delay()
	switch s.mode {
	case 1:
		kind = s.rand.IntN(6)
	case 2:
		kind = 1 + s.rand.IntN(2)
	}
	s.w.mu.Unlock()
	switch kind {
	case 1:
		return lostRequest(ctx, m, next)
	case 2:
		return lostReply(ctx, m, next)
	case 3: // the request is on its way for long, and the reply as well, whatever the sender thinks of it
		time.Sleep(20 * out)
		if s.obeysNobody() {
			delete(m.Header, wire.HeaderDeadline)
		}
		reply, err := next(context.WithoutCancel(ctx), m)
		time.Sleep(20 * back)
		return reply, err
	case 4:
		return nil, nats.ErrNoResponders
	}
	time.Sleep(out)
	reply, err := next(ctx, m)
	time.Sleep(back)
	return reply, err
}

func (s *schedule) obeysNobody() bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.rand.IntN(2) == 0
}

// delay is mostly short.
func (s *schedule) delay() time.Duration {
	return time.Duration(s.rand.ExpFloat64() * float64(30*time.Millisecond))
}

func (s *schedule) run() {
	rival, err := client.New(s.w.line.local, client.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.r.Start(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	stepped := time.Now()
	for time.Since(stepped) < 3*time.Minute && !s.t.Failed() {
		s.w.mu.Lock()
		d, event := time.Duration(s.rand.Int64N(int64(200*time.Millisecond))), s.rand.IntN(150)
		s.w.mu.Unlock()
		time.Sleep(d)
		synctest.Wait()
		switch {
		case event < 2:
			s.w.mu.Lock()
			s.mode = s.rand.IntN(3)
			s.w.mu.Unlock()
		case event == 10:
			s.stand()
		}
		s.rival(rival)
		s.check()
	}
	s.w.line.on(nil, everything...)
	_ = s.r.Stop(context.Background()) // whatever is left lapses
	if s.r.Usable() {
		s.t.Error("it admits after Stop")
	}
	time.Sleep(10 * time.Minute) // for requests that are still on their way
}

// stand lets the holder stand still: nothing of it moves, while time goes on for the store. What the holder has sent is answered.
func (s *schedule) stand() {
	s.w.mu.Lock()
	d := time.Duration(s.rand.ExpFloat64() * float64(8*time.Second))
	s.w.mu.Unlock()
	s.w.clock.jump(d)
	s.host.stand(d)
}

// rival claims the owner as often as it can, and lets it go again soon.
func (s *schedule) rival(c *client.Client) {
	reply, err := c.Leases.Claim(context.Background(), wire.LeaseClaimRequest{OwnerID: "host", TTL: 3000})
	if err != nil {
		s.t.Fatal(err)
	}
	if token, err := s.r.Admit(); err == nil && reply.Kind == wire.KindClaimed {
		s.t.Errorf("the holder admits under %+v although a rival has got %+v", token, *reply.Token)
	}
}

// check compares what the holder believes with what the store says, in the same instant.
func (s *schedule) check() {
	token, err := s.r.Admit()
	if err != nil {
		s.refused++
		return
	}
	s.admitted++
	if live := s.w.lease("host"); live == nil || *live != token {
		s.t.Errorf("the holder admits under %+v while the store has %v", token, fmt.Sprint(live))
	}
}
