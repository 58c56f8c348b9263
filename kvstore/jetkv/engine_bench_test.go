package jetkv_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// BenchmarkUpdate measures transactions that read two rows and write one of 400
// bytes, by one caller and by many at a time.
func BenchmarkUpdate(b *testing.B) {
	for _, place := range []struct {
		name     string
		replicas int
		connect  func(testing.TB) *nats.Conn
	}{
		{"R1", 1, func(t testing.TB) *nats.Conn {
			return testenv.Server(t, testenv.ServerOptions{}).ConnectInProcess(t)
		}},
		{"R1-sync", 1, func(t testing.TB) *nats.Conn {
			return testenv.Server(t, testenv.ServerOptions{SyncAlways: true}).ConnectInProcess(t)
		}},
		{"R3", 3, func(t testing.TB) *nats.Conn {
			return testenv.Cluster(t, 3, testenv.ServerOptions{}).Connect(t)
		}},
	} {
		for _, callers := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", place.name, callers), func(b *testing.B) {
				s := open(b, place.connect(b), jetkv.Options{Bucket: bucketName(), Replicas: place.replicas})
				value := make([]byte, 400)
				update := func(k kvstore.Key) {
					_, err := s.Update(b.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
						_, _ = tx.Row(k), tx.Row(kvtest.Key("a", "lease"))
						_, err := tx.Put(k, value, 0)
						return err
					})
					if err != nil {
						b.Error(err)
					}
				}
				b.ReportAllocs()
				if callers == 1 {
					for b.Loop() {
						update(kvtest.Key("a", "0"))
					}
					return
				}
				var caller atomic.Int64
				b.SetParallelism(callers / runtime.GOMAXPROCS(0))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					k := kvtest.Key("a", fmt.Sprint(caller.Add(1)))
					for pb.Next() {
						update(k)
					}
				})
			})
		}
	}
}
