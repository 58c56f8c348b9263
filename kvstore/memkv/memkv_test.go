package memkv_test

import (
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/kvstore/memkv"
)

func TestStore(t *testing.T) {
	t.Parallel()
	kvtest.Run(t, kvtest.Backend{
		Create: func(_ testing.TB, c kvtest.Config) func() kvstore.Store {
			s := memkv.New(memkv.Options{Schema: c.Schema, Clock: c.Clock, Start: c.Start})
			return func() kvstore.Store { return s }
		},
	})
}
