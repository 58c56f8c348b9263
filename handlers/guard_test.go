package handlers_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// A client chooses the subject of the reply, and the service may publish where the client may not: a reply never goes into the
// store, the changes, or a request.
func TestReplyGoesToNoSubjectOfTheService(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	f := startOn(t, node, nil)
	nc := node.Connect(t)
	sub, err := nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{"$KV.zlink.lease.a", "$JS.API.INFO", "zlink.v1.lease.release", "zlink.v1.changes.x.y.z", "allowed.reply"} {
		m := &nats.Msg{Subject: "zlink.v1." + string(subjects.LeaseRead), Reply: reply, Data: []byte(`{"ownerId":"a"}`)}
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m, err := sub.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatalf("the allowed reply did not come: %v", err)
		}
		if m.Subject == "allowed.reply" {
			break
		}
		if m.Header.Get(wire.HeaderRevision) != "" {
			t.Errorf("a reply went to %s", m.Subject)
		}
	}
	f.claim("a")
}

// Requests that wait for a revision that never comes take half the places at most.
func TestWaitersLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	f := startOn(t, testenv.Server(t, testenv.ServerOptions{}), func(o *handlers.Options) { o.MaxPending = 4 })
	nc := f.node.Connect(t)
	for range 8 {
		m := &nats.Msg{
			Subject: "zlink.v1." + string(subjects.LeaseRead), Reply: nc.NewInbox(), Data: []byte(`{"ownerId":"a"}`),
			Header: nats.Header{wire.HeaderMinRevision: {"9223372036854775807"}},
		}
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 10*time.Second, func() bool { return f.Counters().InFlight == 2 }, "two of four places are taken")
	f.claim("a")
	if got := f.Counters().InFlight; got != 2 {
		t.Errorf("%d in flight, want the 2 that wait", got)
	}
	put(t, f.store, domain.OpaqueKey([]byte("k")), "v")
}
