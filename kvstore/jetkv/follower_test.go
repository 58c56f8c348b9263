package jetkv_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore/jetkv"
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
