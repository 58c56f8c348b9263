package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func TestUnreadableRowsAreNamed(t *testing.T) {
	t.Parallel()
	w, a, _ := creationWorld(t)
	room := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}
	w.ready("r1", "n1", a)
	want(t, domain.UnreadableRows(w.view(), 9), nil)
	w.plant(domain.AuthorityKey(room), []byte("damaged"), 0)
	w.plant(domain.AggregateKey(fence("lost")), []byte("damaged"), 0)
	want(t, domain.UnreadableRows(w.view(), 9), []kvstore.Key{domain.AggregateKey(fence("lost")), domain.AuthorityKey(room)})
	want(t, domain.UnreadableRows(w.view(), 1), []kvstore.Key{domain.AggregateKey(fence("lost"))})
}
