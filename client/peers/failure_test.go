package peers_test

import (
	"testing"
	"time"

	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

func TestFailingListingRemovesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		w.remove(p)
		w.conn.fail("peer.list")
		w.pass(10 * time.Minute)
		w.connected(peerEndpoint)
		w.happened("dial " + peerEndpoint)
	})
}

func TestFailingListingDialsWantedTargetsDuringTheGrace(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		w.start(host())
		w.pass(tick / 2)
		w.conn.fail("peer.list")
		w.net.drop(peerEndpoint) // the listing that this asks for fails at 1 s
		w.pass(tick)
		w.happened("dial "+peerEndpoint, "close "+peerEndpoint, "gone "+peerEndpoint, "dial "+peerEndpoint)

		w.add(router("z", "tcp://z:1", wire.OwnerToken{})) // unknown as long as listings fail
		w.pass(28 * time.Second)                           // 29.5
		w.net.drop(peerEndpoint)
		w.pass(tick)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint, "dial "+peerEndpoint)

		w.pass(tick) // 31.5: the grace ended at 31
		w.net.drop(peerEndpoint)
		w.pass(time.Minute)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint)

		w.conn.mend()
		w.pass(tick)
		w.connected(peerEndpoint, "tcp://z:1")
	})
}

func TestRefusedDialsEndWithTheGrace(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		w.net.setRefuse(peerEndpoint, true)
		o := host()
		o.StoreFailureGrace = 5 * time.Second
		w.start(o)
		w.conn.fail("")
		w.pass(2 * tick)
		w.net.happened()
		w.pass(2 * tick)
		w.happened("dial "+peerEndpoint, "dial "+peerEndpoint)
		w.pass(2 * tick) // 6 s
		w.net.happened()
		w.pass(time.Minute)
		w.happened()

		w.conn.mend()
		w.pass(tick)
		w.happened("dial " + peerEndpoint)
	})
}

func TestNoGraceDialsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		o := host()
		o.StoreFailureGrace = -1
		w.start(o)
		w.conn.fail("")
		w.pass(2 * tick)
		w.net.drop(peerEndpoint)
		w.net.happened()
		w.pass(time.Minute)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint)
	})
}

// N-02 of the cases.
func TestTargetsStayWantedForALeaseTTLAfterFailures(t *testing.T) {
	inWorld(t, func(w *world) {
		p, q := w.add(peer()), w.add(router("z", "tcp://z:1", wire.OwnerToken{}))
		w.start(host())
		w.remove(p)
		w.remove(q)
		w.conn.fail("")
		w.pass(10 * time.Second)
		w.connected(peerEndpoint, "tcp://z:1")
		w.conn.mend()
		w.pass(tick)
		w.connected(peerEndpoint, "tcp://z:1")

		w.net.drop(peerEndpoint) // it is wanted, so it is dialled again
		w.pass(2 * tick)
		w.connected(peerEndpoint, "tcp://z:1")
		w.pass(12*time.Second - time.Millisecond)
		w.connected(peerEndpoint, "tcp://z:1")
		w.pass(time.Millisecond + tick)
		w.connected()
	})
}

// A peer that has lost its lease meanwhile and claims it again within that time is connected to by its new row.
func TestTargetThatComesBackReplacesTheOneThatStayed(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		w.remove(p)
		w.conn.fail("")
		w.pass(10 * time.Second)
		w.conn.mend()
		w.pass(5 * tick)
		w.happened("dial " + peerEndpoint)
		p.Endpoint = "tcp://n:2"
		w.put(p, wire.IntentNewClaim)
		w.pass(2 * tick)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint, "dial tcp://n:2")
		w.pass(time.Minute)
		w.happened()
	})
}

// Once a listing has shown a peer, the next one that does not means what it says.
func TestTargetThatWasListedAfterFailuresIsNotKept(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		w.conn.fail("")
		w.pass(5 * tick)
		w.conn.mend()
		w.pass(tick)
		w.remove(p)
		w.pass(tick)
		w.connected()
	})
}

func TestFailuresThatComeAgainKeepTargetsForAnotherLeaseTTL(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		w.remove(p)
		w.conn.fail("")
		w.pass(5 * tick)
		w.conn.mend()
		w.pass(5 * tick)
		w.conn.fail("")
		w.pass(30 * tick) // longer than they are kept
		w.connected(peerEndpoint)
		w.conn.mend()
		w.pass(14 * tick)
		w.connected(peerEndpoint)
		w.pass(3 * tick)
		w.connected()
	})
}

// N-01 of the cases.
func TestLowerRIDDials(t *testing.T) {
	inWorld(t, func(w *world) {
		rows := map[wire.RID]wire.Peer{
			"\x01": w.add(router("\x01", "tcp://one:1", wire.OwnerToken{})),
			"\x02": w.add(router("\x02", "tcp://two:1", wire.OwnerToken{})),
		}
		w.start(peers.Options{Own: routerHost("\x02", "tcp://two:1")})
		w.happened()
		w.stop()
		w.start(peers.Options{Own: routerHost("\x01", "tcp://one:1")})
		w.happened("dial tcp://two:1")

		draining := router("\x03", "tcp://three:1", wire.OwnerToken{})
		draining.Draining = true
		w.add(draining)
		two := rows["\x02"]
		two.Draining = true
		w.put(two, wire.IntentRenew)
		w.pass(5 * tick)
		w.happened()
		w.connected("tcp://two:1")
	})
}
