package handlers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
)

// localPayload is how much a message may hold in bytes: as much as the protocol's largest.
const localPayload = 8 << 20

// Local is a service without NATS: it answers requests that are handed to it in the process, by the same rules, codec and
// deadlines. It is for tests of what stands on the protocol, which can so run in virtual time. It has one instance, pushes no
// changes and sweeps nothing; see kvstore.Sweep. Create it with [NewLocal]. It may be used from any number of goroutines.
type Local struct {
	s         *Service
	bySubject map[string]*endpoint

	mu      sync.Mutex
	last    uint64                    // guarded by mu; number of the latest request
	waiting map[string]chan *nats.Msg // guarded by mu; by reply subject
}

// NewLocal returns a service of the options, of which Conn is not used.
func NewLocal(o Options) (*Local, error) {
	o.Conn = nil
	l := &Local{bySubject: make(map[string]*endpoint), waiting: make(map[string]chan *nats.Msg)}
	var err error
	if l.s, err = newService(o, l); err != nil {
		return nil, err
	}
	l.s.base, l.s.cancel = context.WithCancel(context.Background())
	for _, e := range l.s.endpoints {
		l.bySubject[l.s.prefix.Operation(e.op)] = e
	}
	return l, nil
}

// RequestMsgWithContext answers a request as a connection would. Errors: [nats.ErrNoResponders] for a subject that is no
// operation's, and that of the context.
func (l *Local) RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	from, op := senderOf(l.s.prefix, m.Subject)
	e := l.bySubject[l.s.prefix.Operation(op)]
	if e == nil {
		return nil, nats.ErrNoResponders
	}
	reply, answer := l.expect()
	defer l.forget(reply)
	l.s.accept(l.s.base, e, message{header: maps.Clone(m.Header), data: slices.Clone(m.Data), replyTo: reply, sender: from})
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *Local) expect() (reply string, answer chan *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	reply, answer = "local."+strconv.FormatUint(l.last, 10), make(chan *nats.Msg, 1)
	l.waiting[reply] = answer
	return reply, answer
}

func (l *Local) forget(reply string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, reply)
}

// PublishMsg delivers a reply; nobody needs to wait for it any more.
func (l *Local) PublishMsg(m *nats.Msg) error {
	if len(m.Data) > localPayload {
		return fmt.Errorf("publish %d bytes: %w", len(m.Data), nats.ErrMaxPayload)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer := l.waiting[m.Subject]; answer != nil {
		answer <- m
		delete(l.waiting, m.Subject)
	}
	return nil
}

// MaxPayload is how much a message may hold, in bytes.
func (l *Local) MaxPayload() int64 { return localPayload }

// Close gives up what waits, and returns when nothing is worked on any more.
func (l *Local) Close() {
	l.s.awaiting.close(l.s)
	l.s.gate.close()
	l.s.cancel()
	<-l.s.gate.idle
	l.s.awaiting.wg.Wait()
}
