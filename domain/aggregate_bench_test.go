package domain_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// BenchmarkAggregate measures what prepare, commit and settling of a group cost in
// memory, with 100,000 other authorities. Groups move to and fro between two nodes.
func BenchmarkAggregate(b *testing.B) {
	for _, n := range []int{1, 100, 1_000, 10_000} {
		w, targets := newBenchWorld(b, 2)
		for i := range 100_000 {
			w.benchRoom(b, fmt.Sprintf("r-other-%d", i), targets[0])
		}
		all := make([]*wire.Authority, n)
		for i := range all {
			all[i] = w.benchRoom(b, fmt.Sprintf("r%05d", i), targets[0])
		}
		b.Run(fmt.Sprintf("participants=%d", n), func(b *testing.B) { benchMoves(b, w, targets, all) })
	}
}

func (w *world) benchRoom(b *testing.B, id string, target wire.Target) *wire.Authority {
	b.Helper()
	req := w.reserveRequest(id, target)
	reply := mustReserve(b, w, domain.ReserveObject, req)
	r := reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, req.Target, reply.Creating}
	return mustDo(b, w, domain.CommitObject, r.commit()).Ready
}

// mustDo runs a write rule once.
func mustDo[Q, R any](b *testing.B, w *world, rule func(*kvstore.Tx, *Q) (*R, error), req *Q) *R {
	b.Helper()
	var reply *R
	err := w.update(func(tx *kvstore.Tx) (err error) {
		reply, err = rule(tx, req)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func benchMoves(b *testing.B, w *world, targets []wire.Target, all []*wire.Authority) {
	var prepare, commit, settle float64
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		f := wire.Fence{AggregateID: fmt.Sprint(len(all)), AggregateGeneration: wire.Generation(w.view().Revision())}
		list := make([]wire.AggregateParticipant, len(all))
		for j, s := range all {
			list[j] = takesPart(s, func(p *wire.AggregateParticipant) {
				p.ExpectedStoreVersion = w.snapshot(p.AuthorityKey.GlobalID).StoreVersion
			})
		}
		list = inKeyOrder(list...)
		for from := 0; from < len(list); from += 1000 {
			w.stage(f, uint32(from), list[from:min(from+1000, len(list))])
		}
		req := prepareRequest(f, targets[(i+1)%2], rooms(uint32(len(all))), nil, counted(uint32(len(all))))
		p, err := domain.NewPreparation(req)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		began := b.Elapsed()
		reply := mustDo(b, w, domain.PrepareAggregate, p)
		want(b, reply.Kind, wire.KindPrepared)
		prepare += (b.Elapsed() - began).Seconds()
		began = b.Elapsed()
		want(b, mustDo(b, w, domain.CommitAggregate, &wire.AggregateCommitRequest{Fence: f}).Kind, wire.KindCommitted)
		commit += (b.Elapsed() - began).Seconds()
		began = b.Elapsed()
		w.work()
		settle += (b.Elapsed() - began).Seconds()
	}
	b.ReportMetric(prepare/float64(b.N)*1000, "prepare-ms")
	b.ReportMetric(commit/float64(b.N)*1000, "commit-ms")
	b.ReportMetric(settle/float64(b.N)*1000, "settle-ms")
}
