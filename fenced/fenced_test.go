package fenced_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/testenv"
)

func TestChainsAndBatchesByWhatTheyTook(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for _, tc := range []struct {
		name           string
		replicas       int
		message, batch time.Duration // of a chain, and of a batch of 100; 0 is not measured
		want           int           // shortest batch
	}{
		{name: "one server, to begin with", replicas: 1, want: 56},
		{name: "one server that does not sync", replicas: 1, message: 20 * us, batch: 3200 * us, want: 221},
		{name: "one server that syncs each message", replicas: 1, message: 200 * us, batch: 3850 * us, want: 16},
		{name: "three servers, to begin with", replicas: 3, want: 2},
		{name: "three servers with slow batches", replicas: 3, message: 20 * us, batch: 9000 * us, want: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := fenced.NewCosts(tc.replicas)
			if tc.message > 0 {
				c.Observe(true, 10, 10*tc.message)
				c.Observe(false, 100, tc.batch)
			}
			n := 1
			for c.Chain(n) {
				n++
			}
			if n != tc.want {
				t.Errorf("batches from %d messages on, want %d", n, tc.want)
			}
		})
	}
}

func TestOneSlowAnswerHardlyCounts(t *testing.T) {
	t.Parallel()
	c := fenced.NewCosts(1)
	c.Observe(true, 10, 200*time.Microsecond)
	c.Observe(true, 10, 100*time.Millisecond)
	if !c.Chain(20) {
		t.Error("a single slow chain ended chains")
	}
	for range 1000 {
		c.Observe(true, 10, 100*time.Millisecond)
	}
	if c.Chain(20) {
		t.Error("chains go on although they have become slow")
	}
}

// stream makes a stream of the subjects below "s".
func stream(t *testing.T) (*nats.Conn, jetstream.Stream) {
	t.Helper()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, AllowAtomicPublish: true, Duplicates: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return nc, s
}

func messages(n int, prefix string) []*nats.Msg {
	msgs := make([]*nats.Msg, n)
	for i := range msgs {
		id := prefix + strconv.Itoa(i)
		msgs[i] = &nats.Msg{Subject: "s." + id, Header: nats.Header{fenced.HeaderID: {id}}}
	}
	return msgs
}

// send publishes the messages and returns the answer to the last one.
func send(t *testing.T, nc *nats.Conn, msgs []*nats.Msg) fenced.Ack {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	last := len(msgs) - 1
	for _, m := range msgs[:last] {
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	m, err := nc.RequestMsgWithContext(ctx, msgs[last])
	if err != nil {
		t.Fatal(err)
	}
	a, err := fenced.ReadAck(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func last(t *testing.T, s jetstream.Stream) uint64 {
	t.Helper()
	in, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return in.State.LastSeq
}

func TestAChainStandsRightAfterItsPosition(t *testing.T) {
	t.Parallel()
	nc, s := stream(t)
	first, second := messages(5, "a"), messages(3, "b")
	fenced.Chain(first, 0)
	if a := send(t, nc, first); a.Error != nil || a.Sequence != 5 {
		t.Fatalf("first chain: %+v", a)
	}
	fenced.Chain(second, 4)
	if a := send(t, nc, second); a.Error == nil {
		t.Errorf("a chain after an old position was stored at %d", a.Sequence)
	}
	fenced.Chain(second, 5)
	if a := send(t, nc, second); a.Error != nil || a.Sequence != 8 {
		t.Errorf("second chain: %+v", a)
	}
	if got := last(t, s); got != 8 {
		t.Errorf("the stream ends at %d, want 8", got)
	}
}

// A stranger's message in the place of one of the chain's ends the chain there,
// although the sequences of what follows would fit.
func TestAChainIsNotStoredAroundAStranger(t *testing.T) {
	t.Parallel()
	nc, s := stream(t)
	msgs := messages(4, "a")
	fenced.Chain(msgs, 0)
	if err := nc.PublishMsg(msgs[0]); err != nil {
		t.Fatal(err)
	}
	send(t, nc, []*nats.Msg{{Subject: "s.stranger", Header: nats.Header{}}}) // takes the place of msgs[1]
	if a := send(t, nc, msgs[2:3]); a.Error == nil || a.Error.ErrorCode != fenced.CodeWrongLastID {
		t.Errorf("the message after the stranger: %+v, want it refused for its predecessor", a)
	}
	if got := last(t, s); got != 2 {
		t.Errorf("the stream ends at %d, want 2", got)
	}
}

func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	nc, s := stream(t)
	batch, late := messages(5, "a"), messages(5, "b")
	fenced.Batch(batch, 0)
	if a := send(t, nc, batch); a.Error != nil || a.Sequence != 5 {
		t.Fatalf("batch: %+v", a)
	}
	fenced.Batch(late, 3)
	if a := send(t, nc, late); a.Error == nil || a.Error.ErrorCode != fenced.CodeWrongLast {
		t.Errorf("late batch: %+v", a)
	}
	if got := last(t, s); got != 5 {
		t.Errorf("the stream ends at %d, want 5", got)
	}
}

func TestReadAck(t *testing.T) {
	t.Parallel()
	_, err := fenced.ReadAck(&nats.Msg{Header: nats.Header{"Status": {"503"}}})
	if !errors.Is(err, fenced.ErrNoResponder) {
		t.Errorf("no responders: %v", err)
	}
	if _, err := fenced.ReadAck(&nats.Msg{Data: []byte("?")}); err == nil || errors.Is(err, fenced.ErrNoResponder) {
		t.Errorf("nonsense: %v", err)
	}
	a, err := fenced.ReadAck(&nats.Msg{Data: []byte(`{"stream":"S","seq":7,"duplicate":true}`)})
	if err != nil || a.Sequence != 7 || !a.Duplicate || a.Error != nil {
		t.Errorf("duplicate: %+v, %v", a, err)
	}
}
