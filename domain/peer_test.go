package domain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// nameless makes a peer one without a routing id.
func nameless(endpoint string) func(*wire.Peer) {
	return func(p *wire.Peer) { p.NodeRID, p.Endpoint = "", endpoint }
}

func asRole(r wire.PeerRole) func(*wire.Peer) { return func(p *wire.Peer) { p.Role = r } }

func peerInMesh(mesh string) func(*wire.Peer) { return func(p *wire.Peer) { p.MeshName = mesh } }

func fanout(p *wire.Peer) { p.AutoConnectType = wire.ConnectFanout }

func (w *world) putPeer(intent wire.Intent, p wire.Peer) *wire.UpdateReply {
	w.t.Helper()
	r, err := tryValid(w, domain.ValidatePeerUpdate, domain.UpdatePeer, &wire.PeerUpdateRequest{Peer: p, Intent: intent})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) storePeer(p wire.Peer) {
	w.t.Helper()
	if r := w.putPeer(wire.IntentNewClaim, p); r.Status != wire.StatusStored {
		w.t.Fatalf("%+v: %+v, want stored", p, r)
	}
}

func (w *world) removePeer(owner wire.OwnerToken, k wire.PeerKey) wire.UpdateStatus {
	w.t.Helper()
	r, err := tryValid(w, domain.ValidatePeerRemove, domain.RemovePeer, &wire.PeerRemoveRequest{Key: k, Owner: owner})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Status
}

// peersBy lists peers by what they are named by, page by page.
func (w *world) peersBy(filter *wire.PeerFilter) string {
	w.t.Helper()
	var names []string
	for _, page := range pages(w, domain.ListPeers, &wire.PeerListRequest{Filter: filter}, 2) {
		for _, p := range page {
			name := string(p.NodeRID)
			if name == "" {
				name = p.Endpoint
			}
			names = append(names, fmt.Sprintf("%s/%s/%s/%s", p.AutoConnectType, p.MeshName, p.Role, name))
		}
	}
	return strings.Join(names, " ")
}

func TestPeerIsListedAsSent(t *testing.T) { // 1.9
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	for _, sent := range []wire.Peer{
		peer("\x00\xff", a, func(p *wire.Peer) { p.Draining, p.Value = true, 1<<64-1 }),
		peer("bare", a, func(p *wire.Peer) { p.Metadata, p.Capabilities = nil, nil }),
	} {
		g := w.putPeer(wire.IntentNewClaim, sent).Generation
		items, _, err := domain.ListPeers(w.view(), &wire.PeerListRequest{Filter: &wire.PeerFilter{NodeRID: sent.NodeRID}}, "", domain.Page{})
		if err != nil {
			t.Fatal(err)
		}
		sent.Generation, sent.UpdatedAt = g, t0
		want(t, items, []wire.PeerItem{{
			Peer: sent, RowState: wire.RowState{Live: true, Version: wire.Version(kvstore.Revision(g).String())},
		}})
	}
}

func TestPeerIsRemovedByWhatItIsNamedBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storePeer(peer("n1", a))
	w.storePeer(peer("", a, nameless("n1"))) // another peer, of the same bytes
	want(t, w.peersBy(nil), "routeMesh/play/router/n1 routeMesh/play/router/n1")
	key := wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter}
	by := func(edit func(*wire.PeerKey)) wire.PeerKey {
		k := key
		edit(&k)
		return k
	}
	w.quiet(func() {
		for _, k := range []wire.PeerKey{
			by(func(k *wire.PeerKey) { k.NodeRID = "n2" }),
			by(func(k *wire.PeerKey) { k.Endpoint = "tcp://peer:7001" }), // of one that has a routing id
			by(func(k *wire.PeerKey) { k.NodeRID, k.MeshName = "n1", "lab" }),
			by(func(k *wire.PeerKey) { k.NodeRID, k.Role = "n1", wire.PeerSpot }),
			by(func(k *wire.PeerKey) { k.NodeRID, k.AutoConnectType = "n1", wire.ConnectFanout }),
		} {
			want(t, w.removePeer(a, k), wire.StatusIgnoredStale)
		}
	})
	want(t, w.removePeer(a, by(func(k *wire.PeerKey) { k.NodeRID, k.Endpoint = "n1", "e9" })), wire.StatusStored)
	want(t, w.removePeer(a, by(func(k *wire.PeerKey) { k.Endpoint = "n1" })), wire.StatusStored)
	want(t, w.peersBy(nil), "")
	wantInvalid(t, domain.ValidatePeerRemove(&wire.PeerRemoveRequest{Key: key, Owner: a}), "key.nodeRid")
}

func TestPeerWithRIDMayMoveToAnotherEndpoint(t *testing.T) { // 1.8
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storePeer(peer("n1", a))
	want(t, w.putPeer(wire.IntentRenew, peer("n1", a, func(p *wire.Peer) { p.Endpoint = "tcp://other:1" })).Status, wire.StatusStored)
	w.storePeer(peer("", a, nameless("e1")))
	want(t, w.putPeer(wire.IntentRenew, peer("", a, nameless("e2"))).Status, wire.StatusRejectedConflict) // another peer
	want(t, w.peersBy(nil), "routeMesh/play/router/e1 routeMesh/play/router/n1")
}

// TestPeersAreInByteOrderOfTheirParts compares the order of a list with that of the
// parts of the identities. 1.9.
func TestPeersAreInByteOrderOfTheirParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	var all []wire.Peer
	for _, mesh := range []string{"a", "a\x01", "b"} {
		for _, role := range []wire.PeerRole{wire.PeerSub, wire.PeerPub} {
			for _, name := range []string{"\x00", "\x00\x00", "\x00\xff", "a", "a\x00", "a\x00\x00", "a\x00e", "a\x00r", "a\x00\xff", "a\x01", "ab", "\xff"} {
				all = append(all, peer(wire.RID(name), a, peerInMesh(mesh), asRole(role)), peer(wire.RID(name), a, peerInMesh(mesh), asRole(role), fanout))
			}
			for _, name := range []string{"A", "a", "a\x01", "ab", "b"} {
				all = append(all, peer("", a, nameless(name), peerInMesh(mesh), asRole(role)))
			}
		}
	}
	for _, p := range slices.Backward(all) {
		w.storePeer(p)
	}
	slices.SortFunc(all, func(a, b wire.Peer) int { return slices.Compare(partsOf(a), partsOf(b)) })
	var sorted, got []string
	for _, p := range all {
		sorted = append(sorted, fmt.Sprintf("%q", partsOf(p)))
	}
	for _, page := range pages(w, domain.ListPeers, &wire.PeerListRequest{}, 7) {
		for _, item := range page {
			got = append(got, fmt.Sprintf("%q", partsOf(item.Peer)))
		}
	}
	want(t, got, sorted)
}

// partsOf lists the parts of an identity; the last tells an endpoint from a routing
// id of the same bytes.
func partsOf(p wire.Peer) []string {
	name, sort := string(p.NodeRID), "r"
	if name == "" {
		name, sort = p.Endpoint, "e"
	}
	return []string{string(p.AutoConnectType), p.MeshName, string(p.Role), name, sort}
}

func TestPeerFilters(t *testing.T) { // P-01, 4 list, 1.9
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storePeer(peer("n1", a))
	w.storePeer(peer("n2", a))
	w.storePeer(peer("n2", a, peerInMesh("lab")))
	w.storePeer(peer("n2", a, asRole(wire.PeerSpot), func(p *wire.Peer) { p.Endpoint = "n2" }))
	w.storePeer(peer("n1", a, fanout, asRole(wire.PeerPub)))
	w.storePeer(peer("", a, nameless("n2")))
	const (
		pub, lab, n1 = "fanout/play/pub/n1", "routeMesh/lab/router/n2", "routeMesh/play/router/n1"
		e2, n2, spot = "routeMesh/play/router/n2", "routeMesh/play/router/n2", "routeMesh/play/spot/n2"
	)
	for name, tt := range map[string]struct {
		filter wire.PeerFilter
		want   []string
	}{
		"none":               {wire.PeerFilter{}, []string{pub, lab, n1, e2, n2, spot}},
		"type":               {wire.PeerFilter{AutoConnectType: wire.ConnectFanout}, []string{pub}},
		"mesh":               {wire.PeerFilter{MeshName: "play"}, []string{pub, n1, e2, n2, spot}},
		"mesh that none has": {wire.PeerFilter{MeshName: "pla"}, nil},
		"type and mesh":      {wire.PeerFilter{AutoConnectType: wire.ConnectRouteMesh, MeshName: "lab"}, []string{lab}},
		"mesh and role":      {wire.PeerFilter{MeshName: "play", Role: wire.PeerRouter}, []string{n1, e2, n2}},
		"type and role":      {wire.PeerFilter{AutoConnectType: wire.ConnectRouteMesh, Role: wire.PeerRouter}, []string{lab, n1, e2, n2}},
		"leading parts": {
			wire.PeerFilter{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter}, []string{n1, e2, n2},
		},
		"routing id, not endpoint": {wire.PeerFilter{NodeRID: "n2"}, []string{lab, n2, spot}},
		"endpoint, of whichever":   {wire.PeerFilter{Endpoint: "n2"}, []string{e2, spot}},
		"endpoint of rows":         {wire.PeerFilter{Endpoint: "tcp://peer:7001", MeshName: "lab"}, []string{lab}},
		"all": {
			wire.PeerFilter{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerSpot, NodeRID: "n2", Endpoint: "n2",
			}, []string{spot},
		},
		"all but one": {
			wire.PeerFilter{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerSpot, NodeRID: "n2", Endpoint: "x",
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, w.peersBy(&tt.filter), strings.Join(tt.want, " "))
		})
	}
	want(t, w.peersBy(nil), w.peersBy(&wire.PeerFilter{}))
}

// TestPeerOutOfScopeFailsNoList: a row that is lost matters where its key matches. 1.5.
func TestPeerOutOfScopeFailsNoList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storePeer(peer("n1", a, peerInMesh("lab")))
	k := domain.PeerKey(wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, Endpoint: "e"})
	w.plant(k, []byte("x"), 0)
	for _, f := range []wire.PeerFilter{
		{MeshName: "lab"}, {AutoConnectType: wire.ConnectFanout}, {Role: wire.PeerSub}, {NodeRID: "n1"}, {Endpoint: "tcp://peer:7001"},
	} {
		if _, _, err := domain.ListPeers(w.view(), &wire.PeerListRequest{Filter: &f}, "", domain.Page{}); err != nil {
			t.Errorf("filter %+v: %v", f, err)
		}
	}
	for _, f := range []wire.PeerFilter{{}, {MeshName: "play"}, {Role: wire.PeerRouter}, {Endpoint: "e"}} {
		_, _, err := domain.ListPeers(w.view(), &wire.PeerListRequest{Filter: &f}, "", domain.Page{})
		wantLost(t, err, k)
	}
}

func TestPeerKeyThatNobodyWritesIsLost(t *testing.T) { // 1.5
	t.Parallel()
	for _, k := range []kvstore.Key{
		"peer\x00routeMesh", "peer\x00routeMesh\x00play\x00router\x00x", "peer\x00routeMesh\x00play\x00router\x00x\x00y",
		"peer\x00routeMesh\x00play\x00router\x00a\x00b\x00r", "peer\x00routeMesh\x00play\x00router\x00\x00r",
		"peer\x00routeMesh\x00play\x00router\x00\xff\x00\xff\x00e",
	} {
		w := newWorld(t)
		w.storePeer(peer("x", w.claim("owner-a")))
		w.plant(k, w.view().Row(locationFamilies["peer"].key).Value, 0)
		_, _, err := domain.ListPeers(w.view(), &wire.PeerListRequest{}, "", domain.Page{})
		wantLost(t, err, k)
	}
}

func TestLongestPeerKeyFits(t *testing.T) { // 1.6
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	mesh := peerInMesh(strings.Repeat("m", 255))
	w.storePeer(peer("", a, nameless(strings.Repeat("e", 1024)), mesh))
	w.storePeer(peer(wire.RID(strings.Repeat("\x00", 255)), a, mesh))
	want(t, len(pages(w, domain.ListPeers, &wire.PeerListRequest{}, 5)[0]), 2)
}
