package histories_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/testenv"
)

// way is how a connection reaches the servers: through a relay in front of each, all of which do the same.
type way struct{ relays []*testenv.Relay }

func newWay(t *testing.T, nodes []*testenv.Node) *way {
	t.Helper()
	w := &way{}
	for _, n := range nodes {
		w.relays = append(w.relays, testenv.Proxy(t, n.URL()))
	}
	return w
}

// connect connects to the server with the given index, and to the next ones when that one is away.
func (w *way) connect(t *testing.T, server int, opts ...nats.Option) *nats.Conn {
	t.Helper()
	urls := make([]string, len(w.relays))
	for i := range w.relays {
		urls[i] = w.relays[(server+i)%len(w.relays)].URL()
	}
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // what else, with relays that break
	several := func(o *nats.Options) error {
		o.Servers, o.NoRandomize, o.RetryOnFailedConnect = urls, true, true
		return nil
	}
	return w.relays[server%len(w.relays)].Connect(t, append(opts, quiet, several)...)
}

func (w *way) each(do func(*testenv.Relay)) {
	for _, r := range w.relays {
		do(r)
	}
}

func (w *way) cut()                  { w.each((*testenv.Relay).Cut) }
func (w *way) heal()                 { w.each((*testenv.Relay).Heal) }
func (w *way) pause()                { w.each((*testenv.Relay).Pause) }
func (w *way) resume()               { w.each((*testenv.Relay).Resume) }
func (w *way) delay(d time.Duration) { w.each(func(r *testenv.Relay) { r.Delay(d) }) }
func (w *way) dropReplies(on bool)   { w.each(func(r *testenv.Relay) { r.DropReplies(on) }) }
