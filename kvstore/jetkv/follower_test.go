package jetkv_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// Every write costs the server something for every consumer, so that those which
// nobody reads from any more must not add up: not those of instances that are gone,
// and not those that were replaced.
func TestConsumersDoNotAddUp(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	js, err := jetstream.New(node.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	stays := open(t, node.Connect(t, noBuffer), o)
	for range 10 {
		gone := open(t, node.Connect(t, noBuffer), o)
		gone.stop()
	}
	stream, err := js.Stream(within(t), "KV_"+o.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, func() bool {
		in, err := stream.Info(within(t))
		return err == nil && in.State.Consumers == 1
	}, "one consumer for one instance")
	other := open(t, node.Connect(t, noBuffer), o)
	other.reaches(stays.put("k", "v"))
	stays.reaches(other.put("k", "w"))
}

// A server cuts a connection that too much waits for. What is asked for ahead is bounded
// in bytes as well, so that large rows can be read at all.
func TestLargeRowsAreReadInPortions(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{Config: "max_pending: 20MB"})
	o := jetkv.Options{Bucket: bucketName()}
	a := open(t, node.Connect(t), o)
	large := string(make([]byte, 1<<20))
	var last kvstore.Revision
	for i := range 64 {
		last = a.put(kvtest.Key("large", strconv.Itoa(i)), large)
	}
	nc := node.Connect(t, noBuffer)
	var cut atomic.Int64
	nc.SetDisconnectErrHandler(func(*nats.Conn, error) { cut.Add(1) })
	b := open(t, nc, o)
	b.reaches(last)
	if n := cut.Load(); n > 0 {
		t.Errorf("the server cut the connection %d times", n)
	}
}
