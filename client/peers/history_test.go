package peers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// Whatever happens to the directory, to the way there and to connections: when it is over, the host is connected to those that
// are there and to no other, and it has never had two connections to a peer nor dialled one that drains.
func TestConnectionsFollowTheDirectory(t *testing.T) {
	t.Parallel()
	seeds := 12
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inWorld(t, func(w *world) {
				h := newHistory(w, uint64(seed))
				for range 60 {
					h.step()
					w.pass(time.Duration(h.IntN(1500)) * time.Millisecond)
				}
				h.rest()
			})
		})
	}
}

// history is what happens to some peers.
type history struct {
	*rand.Rand
	w      *world
	set    *peers.Set
	owners []wire.OwnerToken
	rows   map[int]wire.Peer // those that are there
}

func newHistory(w *world, seed uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 0)), w: w, rows: make(map[int]wire.Peer)}
	for i := range 4 {
		h.owners = append(h.owners, w.claim(fmt.Sprint("owner", i), forever))
	}
	h.set = w.start(host())
	return h
}

func endpointOf(i, which int) string { return fmt.Sprintf("tcp://n%d:%d", i, which+1) }

// some is one endpoint of some peer.
func (h *history) some() string { return endpointOf(h.IntN(len(h.owners)), h.IntN(2)) }

func (h *history) step() {
	i := h.IntN(len(h.owners))
	row, there := h.rows[i]
	switch choice := h.IntN(10); {
	case choice < 3:
		h.whole(func() { h.store(i, h.IntN(2), h.IntN(3) == 0) })
	case choice == 3 && there:
		h.whole(func() { h.w.remove(row) })
		delete(h.rows, i)
	case choice == 4:
		if all := h.w.net.connected(); len(all) > 0 {
			h.w.net.drop(all[h.IntN(len(all))])
		}
	case choice == 5:
		h.w.net.setRefuse(h.some(), h.IntN(2) == 0)
	case choice == 6:
		h.w.net.hinder(h.some(), time.Duration(h.IntN(3000))*time.Millisecond, time.Duration(h.IntN(3000))*time.Millisecond)
	case choice == 7:
		h.w.conn.fail([]string{"", lists, asks, "nothing"}[h.IntN(4)])
	case choice == 8:
		h.set.Watching(h.IntN(2) == 0)
	default:
		h.set.Changed(0)
	}
}

// whole does something with a connection that works, and leaves it broken if it was.
func (h *history) whole(do func()) {
	broken := h.w.conn.mend()
	do()
	for op := range broken {
		h.w.conn.fail(op)
	}
}

func (h *history) store(i, which int, draining bool) {
	row := router(wire.RID(fmt.Sprint("n", i)), endpointOf(i, which), h.owners[i])
	row.Draining = draining
	row.Value = wire.U64(h.Uint64())
	h.rows[i] = h.w.put(row, []wire.Intent{wire.IntentTakeover, wire.IntentRenew}[h.intent(i)])
}

// intent is 0, or 1 when the row is there, which keeps its generation.
func (h *history) intent(i int) int {
	if _, there := h.rows[i]; there {
		return h.IntN(2)
	}
	return 0
}

// rest ends everything that is in the way, waits until nothing is kept from before, and compares.
func (h *history) rest() {
	h.w.conn.mend()
	h.set.Watching(false)
	var want []string
	for i := range h.owners {
		for which := range 2 {
			h.w.net.setRefuse(endpointOf(i, which), false)
		}
		if row, there := h.rows[i]; there {
			row.Draining = false
			h.rows[i] = h.w.put(row, wire.IntentRenew)
			want = append(want, row.Endpoint)
		}
	}
	h.w.pass(peers.DefaultLeaseTTL + 10*time.Second)
	slices.Sort(want)
	if diff := cmp.Diff(want, h.w.net.connected()); diff != "" {
		h.w.Errorf("connections (-want +got):\n%s", diff)
	}
	if s := h.set.Status(); s.Wanted != len(want) || s.Connected != len(want) || !s.StoreHealthy {
		h.w.Errorf("status %+v, want %d connections", s, len(want))
	}
}
