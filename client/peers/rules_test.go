package peers_test

import (
	"testing"
	"time"

	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// The host of these tests, unless a case changes it, and a peer that it dials, unless a case changes that.
const (
	hostRID, hostEndpoint = "m", "tcp://m:1"
	peerRID, peerEndpoint = "n", "tcp://n:1"
)

// a rule is one about who is dialled.
type rule struct {
	name  string
	host  func(*peers.Own)
	peer  func(*wire.Peer)
	node  *peers.Node
	dials bool
}

func (r rule) run(t *testing.T, host peers.Own, peer wire.Peer) {
	t.Helper()
	t.Run(r.name, func(t *testing.T) {
		inWorld(t, func(w *world) {
			if r.host != nil {
				r.host(&host)
			}
			if r.peer != nil {
				r.peer(&peer)
			}
			w.add(peer)
			o := peers.Options{Own: host}
			if r.node != nil {
				o.NodeOf = func(wire.Peer) peers.Node { return *r.node }
			}
			w.start(o)
			want := []string(nil)
			if r.dials {
				want = []string{"dial " + peers.NormalizeEndpoint(peer.Endpoint)}
			}
			w.happened(want...)
		})
	})
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	for _, c := range []rule{
		{name: "another router", dials: true},
		{name: "another type", peer: func(p *wire.Peer) { p.AutoConnectType = wire.ConnectFanout }},
		{name: "another mesh", peer: func(p *wire.Peer) { p.MeshName = "lab" }},
		{name: "own RID", peer: func(p *wire.Peer) { p.NodeRID = hostRID }},
		{name: "own endpoint", peer: func(p *wire.Peer) { p.Endpoint = hostEndpoint }},
		{name: "own endpoint in another form", peer: func(p *wire.Peer) { p.Endpoint = "TCP://M:01/" }},
		{
			name: "own endpoint, given in another form", peer: func(p *wire.Peer) { p.Endpoint = hostEndpoint },
			host: func(o *peers.Own) { o.Endpoint = " TCP://M:01/ " },
		},
		{
			name: "no RID on either side", peer: func(p *wire.Peer) { p.NodeRID = "" }, host: func(o *peers.Own) { o.RID = "" },
			dials: true,
		},
	} {
		c.run(t, routerHost(hostRID, hostEndpoint), router(peerRID, peerEndpoint, wire.OwnerToken{}))
	}
}

func TestOnlyLiveRowsAreCandidates(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put(router(peerRID, peerEndpoint, w.claim("short", 15_000)), wire.IntentNewClaim)
		w.start(peers.Options{Own: routerHost(hostRID, hostEndpoint)})
		w.pass(14 * time.Second)
		w.connected(peerEndpoint)
		w.pass(2200 * time.Millisecond)
		w.connected()
	})
}

func TestDialRouteMesh(t *testing.T) {
	t.Parallel()
	for _, c := range []rule{
		{name: "lower RID", dials: true},
		{name: "higher RID", peer: func(p *wire.Peer) { p.NodeRID = "a" }},
		{name: "RIDs compare as bytes", peer: func(p *wire.Peer) { p.NodeRID = "m\x00" }, dials: true},
		{name: "RIDs count, endpoints do not", peer: func(p *wire.Peer) { p.Endpoint = "tcp://a:1" }, dials: true},
		{name: "peer's RID unknown, lower endpoint", peer: func(p *wire.Peer) { p.NodeRID = "" }, dials: true},
		{name: "peer's RID unknown, higher endpoint", peer: func(p *wire.Peer) { p.NodeRID, p.Endpoint = "", "tcp://a:1" }},
		{name: "own RID unknown, lower endpoint", host: func(o *peers.Own) { o.RID = "" }, dials: true},
		{
			name: "own RID unknown, higher endpoint", host: func(o *peers.Own) { o.RID = "" },
			peer: func(p *wire.Peer) { p.Endpoint = "tcp://a:1" },
		},
		{
			name: "endpoints compare as normalized", host: func(o *peers.Own) { o.RID = "" },
			peer: func(p *wire.Peer) { p.Endpoint = "TCP://N:1" }, dials: true,
		},
		{
			name: "no endpoint: always", host: func(o *peers.Own) { o.Endpoint = "" },
			peer: func(p *wire.Peer) { p.NodeRID = "a" }, dials: true,
		},
		{name: "peer is a spot", peer: func(p *wire.Peer) { p.Role = wire.PeerSpot }},
		{name: "peer is a dealer", peer: func(p *wire.Peer) { p.Role = wire.PeerDealer }},
		{name: "peer is a publisher", peer: func(p *wire.Peer) { p.Role = wire.PeerPub }},
		{name: "host is a dealer", host: func(o *peers.Own) { o.Role = wire.PeerDealer }},
		{name: "host is a dealer without endpoint", host: func(o *peers.Own) { o.Role, o.Endpoint = wire.PeerDealer, "" }},
		{
			name: "two clients", host: func(o *peers.Own) { o.ObjectRole = wire.RoleClient },
			node: &peers.Node{ObjectRole: wire.RoleClient},
		},
		{
			name: "two clients with a server channel", host: func(o *peers.Own) { o.ObjectRole = wire.RoleClient },
			node: &peers.Node{ObjectRole: wire.RoleClient, ServerChannel: true}, dials: true,
		},
		{
			name: "client and server", host: func(o *peers.Own) { o.ObjectRole = wire.RoleClient },
			node: &peers.Node{ObjectRole: wire.RoleServer}, dials: true,
		},
		{
			name: "server and client", host: func(o *peers.Own) { o.ObjectRole = wire.RoleServer },
			node: &peers.Node{ObjectRole: wire.RoleClient}, dials: true,
		},
		{
			name: "two clients without endpoint", host: func(o *peers.Own) { o.ObjectRole, o.Endpoint = wire.RoleClient, "" },
			node: &peers.Node{ObjectRole: wire.RoleClient},
		},
	} {
		c.run(t, routerHost(hostRID, hostEndpoint), router(peerRID, peerEndpoint, wire.OwnerToken{}))
	}
}

func TestDialFanout(t *testing.T) {
	t.Parallel()
	host := peers.Own{
		AutoConnectType: wire.ConnectFanout, MeshName: "play", Role: wire.PeerSub, RID: hostRID, Endpoint: hostEndpoint,
	}
	peer := router(peerRID, peerEndpoint, wire.OwnerToken{})
	peer.AutoConnectType, peer.Role = wire.ConnectFanout, wire.PeerPub
	for _, c := range []rule{
		{name: "subscriber and publisher", dials: true},
		{name: "the order of RIDs makes no difference", peer: func(p *wire.Peer) { p.NodeRID = "a" }, dials: true},
		{name: "two subscribers", peer: func(p *wire.Peer) { p.Role = wire.PeerSub }},
		{name: "two publishers", host: func(o *peers.Own) { o.Role = wire.PeerPub }},
		{
			name: "publisher and subscriber", host: func(o *peers.Own) { o.Role = wire.PeerPub },
			peer: func(p *wire.Peer) { p.Role = wire.PeerSub },
		},
		{name: "publisher and router", peer: func(p *wire.Peer) { p.Role = wire.PeerRouter }},
	} {
		c.run(t, host, peer)
	}
}
