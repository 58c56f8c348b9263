package jetkv_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// leader answers in the place of a stream leader, as one of three replicas that has
// just been elected: for a number of times its log ends before what it has.
type leader struct {
	t      *testing.T
	nc     *nats.Conn
	behind atomic.Int64 // answers to come that are of the past
}

// lead answers the requests of a JetStream domain, with the server's help.
func lead(t *testing.T, nc *nats.Conn, domain string) *leader {
	t.Helper()
	l := &leader{t: t, nc: nc}
	_, err := nc.Subscribe("$JS."+domain+".API.>", func(m *nats.Msg) {
		subject := "$JS." + strings.TrimPrefix(m.Subject, "$JS."+domain+".")
		if strings.HasPrefix(subject, "$JS.API.STREAM.INFO.") {
			l.inform(subject, m)
			return
		}
		if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: m.Reply, Header: m.Header, Data: m.Data}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return l
}

// inform answers how far the stream is.
func (l *leader) inform(subject string, m *nats.Msg) {
	reply, err := l.nc.RequestWithContext(within(l.t), subject, m.Data)
	if err != nil {
		return // the test ends, or whoever asked asks again
	}
	var info map[string]any
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		l.t.Error(err)
		return
	}
	if config, ok := info["config"].(map[string]any); ok {
		config["num_replicas"] = 3
	}
	if state, ok := info["state"].(map[string]any); ok && l.behind.Load() > 0 {
		l.behind.Add(-1)
		state["last_seq"] = 1
	}
	data, err := json.Marshal(info)
	if err != nil {
		l.t.Error(err)
		return
	}
	if err := m.Respond(data); err != nil {
		l.t.Error(err)
	}
}

// A leader that has just been elected does not know yet how far its log goes. What it
// says then is no proof that commits are lost.
func TestNewLeaderIsBehindItsLog(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	relay := testenv.Proxy(t, node.URL())
	l := lead(t, node.Connect(t), "elected")
	o := jetkv.Options{Bucket: bucketName()}
	open(t, node.Connect(t), o).stop() // makes the bucket
	o.JSDomain, o.Replicas = "elected", 3
	s := open(t, relay.Connect(t, noBuffer), o)
	k := kvtest.Key("a", "1")
	for range 5 {
		s.put(k, "x")
	}
	l.behind.Store(3)
	relay.Cut()
	relay.Heal()
	testenv.Eventually(t, patience, func() bool { return l.behind.Load() == 0 }, "questions after the reconnect")
	if rev := s.put(k, "y"); rev != 6 {
		t.Errorf("revision %d, want 6", rev)
	}
	s.checkSound()
}
