package client_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

// ahead is how far the store's clock is ahead of the machine's: no client may rely on its own.
const ahead = 3 * time.Hour

// storeClock is the machine's clock, put forward.
type storeClock struct{ kvstore.Clock }

func (c storeClock) Now() kvstore.Instant {
	return c.Clock.Now() + kvstore.Instant(ahead.Milliseconds())
}

func (c storeClock) Wait(ctx context.Context, until kvstore.Instant) error {
	return c.Clock.Wait(ctx, until-kvstore.Instant(ahead.Milliseconds()))
}

// line carries requests to a service in the process, and does with each try what a test wants.
type line struct {
	local *handlers.Local

	mu     sync.Mutex
	faults []fault     // guarded by mu; what happens to the next tries, one each
	sent   []*nats.Msg // guarded by mu; every request but for those of the clock
}

// fault is something that happens to a request on its way; it may pass the request on.
type fault func(ctx context.Context, l *line, m *nats.Msg) (*nats.Msg, error)

func (l *line) RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	if strings.HasSuffix(m.Subject, ".status.get") {
		return l.local.RequestMsgWithContext(ctx, m)
	}
	if f := l.next(m); f != nil {
		return f(ctx, l, m)
	}
	return l.local.RequestMsgWithContext(ctx, m)
}

func (l *line) next(m *nats.Msg) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, m)
	if len(l.faults) == 0 {
		return nil
	}
	f := l.faults[0]
	l.faults = l.faults[1:]
	return f
}

func (l *line) expect(faults ...fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults, l.sent = faults, nil
}

func (l *line) tries() []*nats.Msg {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// lostRequest never arrives, and lostReply is carried out, but nobody hears of it.
func lostRequest(ctx context.Context, _ *line, _ *nats.Msg) (*nats.Msg, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func lostReply(ctx context.Context, l *line, m *nats.Msg) (*nats.Msg, error) {
	if _, err := l.local.RequestMsgWithContext(ctx, m); err != nil {
		return nil, err
	}
	return lostRequest(ctx, l, m)
}

func nobody(context.Context, *line, *nats.Msg) (*nats.Msg, error) { return nil, nats.ErrNoResponders }

// refused is a service that answers with a code.
func refused(code wire.Code) fault {
	return func(context.Context, *line, *nats.Msg) (*nats.Msg, error) {
		body, err := wire.Marshal(wire.CBOR, wire.ErrorBody{Error: wire.ErrorDetail{Code: code, Message: "so it is"}})
		return &nats.Msg{Data: body, Header: nats.Header{
			wire.HeaderContentType: {wire.CBOR.ContentType()}, wire.HeaderError: {"so it is"}, wire.HeaderErrorCode: {"500"},
		}}, err
	}
}

// world is a directory in memory and a client of it, both in the bubble of the test.
type world struct {
	*client.Client
	line *line
}

func newWorld(t *testing.T, o client.Options) *world {
	t.Helper()
	store := memkv.New(memkv.Options{Schema: domain.Schema(), Clock: storeClock{kvstore.NewSystemClock()}})
	local, err := handlers.NewLocal(handlers.Options{Store: store, InstanceID: "here", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	l := &line{local: local}
	c, err := client.New(l, o)
	if err != nil {
		t.Fatal(err)
	}
	return &world{c, l}
}
