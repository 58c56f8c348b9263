package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// rivals is an instance "one" that takes "two" for the one that writes, and what "two" is sent.
type rivals struct {
	*fixture
	store *stub
	sent  chan *nats.Msg
}

// startRivals lets the instance "two" do as answer says; without answer there is no such instance.
func startRivals(t *testing.T, answer func(*nats.Msg) *nats.Msg, timeout time.Duration) *rivals {
	t.Helper()
	r := &rivals{sent: make(chan *nats.Msg, 16)}
	r.fixture = start(t, func(o *handlers.Options) {
		r.store = &stub{Store: o.Store, writer: "two"}
		o.Store, o.ForwardTimeout = r.store, timeout
	})
	if answer == nil {
		return r
	}
	_, err := r.client.Subscribe(subjects.DefaultPrefix.Instance("two", ">"), func(m *nats.Msg) {
		r.sent <- m
		if reply := answer(m); reply != nil {
			if err := m.RespondMsg(reply); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.Flush(); err != nil {
		t.Fatal(err)
	}
	return r
}

func canned(*nats.Msg) *nats.Msg {
	return &nats.Msg{Data: []byte(`{"by":"two"}`), Header: nats.Header{
		"Content-Type": {"application/json"}, "Zlink-Revision": {"77"}, "X": {"y", "z"},
	}}
}

func silent(*nats.Msg) *nats.Msg { return nil }

func TestWriteIsForwardedToTheInstanceThatWrites(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	unchanged := r.unchanged()
	reply := r.call(subjects.LeaseClaim, claimA, headers{"traceparent": "00-1-2-03", "Zlink-Request": "forged"})
	reply.want(map[string]string{"by": "two"})
	if diff := cmp.Diff(canned(nil).Header, reply.Header); diff != "" {
		t.Errorf("header of the reply (-want +got):\n%s", diff)
	}
	unchanged()

	sent := <-r.sent
	if string(sent.Data) != claimA || sent.Subject != "zlink.v1.instance.two.lease.claim" {
		t.Errorf("sent %q on %s", sent.Data, sent.Subject)
	}
	id := sent.Header.Get("Zlink-Request")
	if id == "" || id == "forged" {
		t.Errorf("request id %q", id)
	}
	want := nats.Header{
		"Traceparent": {"00-1-2-03"}, "Zlink-Request": {id}, "Zlink-Deadline": {fmt.Sprint(testT0 + 9_800)}, // before ours
	}
	sent.Header["Traceparent"] = sent.Header["traceparent"]
	delete(sent.Header, "traceparent")
	if diff := cmp.Diff(want, sent.Header); diff != "" {
		t.Errorf("header of the request (-want +got):\n%s", diff)
	}
	if got := r.outcomes(subjects.LeaseClaim)[handlers.OutcomeForwarded]; got != 1 {
		t.Errorf("forwarded %d, want 1", got)
	}
}

// outcomes are the counts of one operation.
func (f *fixture) outcomes(op subjects.Operation) map[string]uint64 {
	for _, o := range f.Counters().Operations {
		if o.Operation == op {
			return o.Outcomes
		}
	}
	return nil
}

// TestHeadersThatMeanNothingAreNotForwarded: a server acts on headers with the rights of whoever publishes them. That it looks at
// those of the client as well does not help: it ends a line at CRLF, client libraries at LF.
func TestHeadersThatMeanNothingAreNotForwarded(t *testing.T) {
	t.Parallel()
	const known = "Content-Type: application/json\r\ntraceparent: 00-1-2-03\r\ntracestate: a=b\r\nZlink-Consistency: leader\r\nZlink-Min-Revision: 0\r\n"
	for op, request := range map[subjects.Operation]string{
		subjects.LeaseClaim: claimA, subjects.MeshNodeList: page(1, tokenOf("two")),
	} {
		r := startRivals(t, canned, 0)
		reply, err := r.client.SubscribeSync(r.client.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.client.Flush(); err != nil {
			t.Fatal(err)
		}
		header := "NATS/1.0\r\n" + known + "X: y\nNats-Trace-Dest: $KV.zlink.x\r\n\r\n"
		r.raw(fmt.Sprintf("HPUB %s %s %d %d\r\n%s%s\r\n", subjects.DefaultPrefix.Operation(op), reply.Subject,
			len(header), len(header)+len(request), header, request))
		if m, err := reply.NextMsg(patience); err != nil || string(m.Data) != `{"by":"two"}` {
			t.Fatalf("%s: %v, %v", op, m, err)
		}
		sent := (<-r.sent).Header
		delete(sent, "Zlink-Deadline")
		delete(sent, "Zlink-Request")
		if diff := cmp.Diff(nats.Header{
			"Content-Type": {"application/json"}, "traceparent": {"00-1-2-03"}, "tracestate": {"a=b"}, "Zlink-Consistency": {"leader"}, "Zlink-Min-Revision": {"0"},
		}, sent); diff != "" {
			t.Errorf("%s: header of the request (-want +got):\n%s", op, diff)
		}
	}
}

// raw sends protocol lines that no client library would.
func (f *fixture) raw(lines string) {
	f.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(f.t.Context(), "tcp", f.client.ConnectedAddr())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte("CONNECT {\"headers\":true,\"verbose\":false}\r\n" + lines + "PING\r\n")); err != nil {
		f.t.Fatal(err)
	}
}

func TestReadIsNotForwarded(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	r.call(subjects.LeaseRead, readA, nil).want(map[string]string{"kind": "missing"})
	r.call(subjects.MeshNodeList, `{"meshName":"play"}`, nil).want(map[string]string{"revision": "0"})
}

func TestWriteIsDoneHereWhenTheOtherInstanceIsGone(t *testing.T) {
	t.Parallel()
	r := startRivals(t, nil, 0)
	r.claim("a")
	if got := r.store.updatesSeen(); len(got) != 1 || got[0].Request == "" || got[0].Yield {
		t.Errorf("updates %+v, want one with a request id that does not yield", got)
	}
}

func TestWriteIsDoneHereUnderTheSameIDWhenTheOtherInstanceIsSilent(t *testing.T) {
	t.Parallel()
	r := startRivals(t, silent, time.Millisecond)
	r.claim("a")
	id := (<-r.sent).Header.Get("Zlink-Request")
	if diff := cmp.Diff([]kvstore.UpdateOptions{{Request: id}}, r.store.updatesSeen()); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

func TestOutcomeIsUnknownWhenTheOtherInstanceMayHaveDoneIt(t *testing.T) {
	t.Parallel()
	r := startRivals(t, silent, time.Millisecond)
	for _, err := range []error{
		kvstore.ErrDeadline, kvstore.ErrUnavailable, kvstore.ErrOverloaded, kvstore.ErrUnknown, kvstore.ErrExhausted,
	} {
		r.store.update = func(context.Context, kvstore.UpdateOptions, func(*kvstore.Tx) error) (kvstore.Revision, error) {
			return 0, err
		}
		r.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeOutcomeUnknown, "")
	}
}

func TestOutcomeIsUnknownWhenTheDeadlineComesFirst(t *testing.T) {
	t.Parallel()
	r := startRivals(t, silent, time.Hour)
	for _, op := range []subjects.Operation{subjects.LeaseRelease, subjects.OwnerRemoveAll} {
		field := map[subjects.Operation]string{subjects.LeaseRelease: "token", subjects.OwnerRemoveAll: "owner"}[op]
		r.call(op, `{"`+field+`":{"ownerId":"a","leaseGeneration":1}}`, headers{"Zlink-Deadline": fmt.Sprint(testT0 + 20)}).
			refused(wire.CodeOutcomeUnknown, "")
	}
}

func TestWriteIsForwardedWhenItKeepsLosingTheRace(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	r.store.writer = ""
	r.store.update = func(context.Context, kvstore.UpdateOptions, func(*kvstore.Tx) error) (kvstore.Revision, error) {
		return 0, &kvstore.ContendedError{Writer: "two"}
	}
	r.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"by": "two"})
	if diff := cmp.Diff([]kvstore.UpdateOptions{{Yield: true}}, r.store.updatesSeen()); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

func TestForwardedRequestIsNotForwardedAgain(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	own := subjects.DefaultPrefix.Instance("one", subjects.LeaseClaim)
	r.send(own, []byte(claimA), headers{"Zlink-Request": "id"}).want(map[string]string{"kind": "claimed"})
	if diff := cmp.Diff([]kvstore.UpdateOptions{{Request: "id"}}, r.store.updatesSeen()); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	unchanged := r.unchanged()
	for _, id := range []string{"", string(make([]byte, 65))} {
		r.send(own, []byte(claimA), headers{"Zlink-Request": id}).refused(wire.CodeInvalidArgument, "Zlink-Request")
	}
	unchanged()
}

// TestWhatTheOtherInstanceSaysAtItsDeadlineIsTheAnswer: it knows how much was written, if anything.
func TestWhatTheOtherInstanceSaysAtItsDeadlineIsTheAnswer(t *testing.T) {
	t.Parallel()
	count := func(*nats.Msg) *nats.Msg {
		return &nats.Msg{Data: []byte(`{"removed":2}`), Header: nats.Header{
			"Content-Type": {"application/json"}, "Zlink-Revision": {"77"},
		}}
	}
	late := func(*nats.Msg) *nats.Msg {
		return &nats.Msg{Data: []byte(`{"error":{"code":"deadlineExceeded","message":"late"}}`), Header: nats.Header{
			"Content-Type": {"application/json"}, "Zlink-Revision": {"77"},
			"Nats-Service-Error": {"late"}, "Nats-Service-Error-Code": {"408"},
		}}
	}
	startRivals(t, count, 0).call(subjects.OwnerRemoveAll, `{"owner":{"ownerId":"a","leaseGeneration":1}}`, nil).
		want(map[string]string{"removed": "2"})
	startRivals(t, late, 0).call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeDeadlineExceeded, "")
}

// narrowDialer connects to a server that seems to take messages of 64 KiB only.
type narrowDialer struct{ net.Dialer }

type narrowConn struct{ net.Conn }

func (d narrowDialer) Dial(network, address string) (net.Conn, error) {
	c, err := d.Dialer.Dial(network, address)
	return narrowConn{c}, err
}

func (c narrowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	copy(b, bytes.Replace(b[:n], []byte(`"max_payload":8388608`), []byte(`"max_payload":  65536`), 1))
	return n, err
}

// TestRelayedReplyAboveMaxPayload: the other instance is on a server that takes larger messages.
func TestRelayedReplyAboveMaxPayload(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{MaxPayload: 8 << 20})
	f := startOn(t, node, func(o *handlers.Options) {
		o.Conn = node.Connect(t, nats.SetCustomDialer(narrowDialer{}))
		o.Store = &stub{Store: o.Store, writer: "two"}
	})
	_, err := f.client.Subscribe(subjects.DefaultPrefix.Instance("two", ">"), func(m *nats.Msg) {
		reply := canned(m)
		reply.Data = make([]byte, 65<<10)
		if err := m.RespondMsg(reply); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.client.Flush(); err != nil {
		t.Fatal(err)
	}
	f.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeOutcomeUnknown, "")
	f.call(subjects.MeshNodeList, page(1, tokenOf("two")), nil).refused(wire.CodeTooLarge, "")
}

// What was carried out elsewhere has an answer there, however late.
func TestLateAnswerOfTheInstanceThatDidItIsRelayed(t *testing.T) {
	t.Parallel()
	carriedOut := make(chan struct{})
	r := startRivals(t, func(m *nats.Msg) *nats.Msg {
		<-carriedOut
		return canned(m)
	}, time.Millisecond)
	r.store.update = func(context.Context, kvstore.UpdateOptions, func(*kvstore.Tx) error) (kvstore.Revision, error) {
		close(carriedOut)
		return 0, fmt.Errorf("%w: %w", kvstore.ErrUnknown, kvstore.ErrCarriedOut)
	}
	r.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"by": "two"})
}
