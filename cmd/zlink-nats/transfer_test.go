package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/wire"
)

// TestTransferFacts has what move.txtar cannot wait for.
func TestTransferFacts(t *testing.T) {
	t.Parallel()
	const from = "t, prepared, from node n1 of mesh play to node n2 of mesh play, recovery owner ra, whose recovery lease "
	for name, c := range map[string]struct {
		now  wire.Instant
		want string
	}{
		"its recovery lease runs":        {99_000, from + "runs until 1970-01-01T00:01:40.000Z, 1s from now"},
		"its recovery lease has run out": {100_000, from + "ran out at 1970-01-01T00:01:40.000Z: others may take it over"}, // 9 take-over row 3
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := readyActor()
			e.StoreNow = c.now
			e.Transfer = &wire.ActorTransferRecord{State: wire.TransferPrepared, RecoveryLeaseExpiresAt: 100_000, ActorTransfer: wire.ActorTransfer{
				TransferID: "t", RecoveryOwnerID: "ra",
				Source: wire.ActorRef{MeshName: "play", NodeRID: "n1"}, Target: wire.ActorRef{MeshName: "play", NodeRID: "n2"},
			}}
			if diff := cmp.Diff([]fact{{"transfer", c.want}}, e.transferFacts(), cmp.AllowUnexported(fact{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
