package jetkv_test

import (
	"errors"
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// A row whose last versions were written by another instance and are not released
// here is that instance's to write: its feed is at work on them.
func TestWaitersForAnotherInstanceMayYield(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), Hold: true}
	first, second := o, o
	first.InstanceID, second.InstanceID = "first", "second"
	a, b := open(t, node.Connect(t), first), open(t, node.Connect(t), second)
	k := kvtest.Key("a", "1")
	a.put(k, "x")
	b.reaches(a.put(k, "y"))
	put := func(tx *kvstore.Tx) error { _, err := tx.Put(k, []byte("z"), 0); return err }
	_, err := b.Update(within(t), kvstore.UpdateOptions{Yield: true}, put)
	contended, ok := errors.AsType[*kvstore.ContendedError](err)
	if !ok || contended.Writer != "first" {
		t.Fatalf("got %v, want a ContendedError that names the first instance", err)
	}
	b.Release(b.latest().Revision())
	if _, err := b.Update(within(t), kvstore.UpdateOptions{Yield: true}, put); err != nil {
		t.Errorf("after the release: %v", err)
	}
}
