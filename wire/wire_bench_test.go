package wire_test

import (
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

func BenchmarkCodec(b *testing.B) {
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42}
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		b.Run(enc.ContentType(), func(b *testing.B) {
			benchmarkType(b, enc, "descriptor", sampleDescriptor("n1"))
			benchmarkType(b, enc, "update", wire.MeshNodeUpdateRequest{Descriptor: sampleDescriptor("n1"), Intent: wire.IntentRenew})
			benchmarkType(b, enc, "renew", wire.LeaseRenewRequest{Token: token, TTL: 15000})
			benchmarkType(b, enc, "renewed", wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: 1783036815000, StoreNow: 1783036800000})
			benchmarkType(b, enc, "read", wire.AuthorityReadRequest{Key: actorKey})
			benchmarkType(b, enc, "authority", asSnapshot(sampleAuthority()))
		})
	}
}

func benchmarkType[T any](b *testing.B, enc wire.Encoding, name string, v T) {
	b.Run(name+"/marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := wire.Marshal(enc, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(name+"/unmarshal", func(b *testing.B) {
		data, err := wire.Marshal(enc, &v)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var got T
			if err := wire.Unmarshal(enc, data, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
}
