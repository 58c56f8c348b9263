package domain

import (
	"iter"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// peers are the rules of peers.
var peers = locationFamily[wire.Peer]{
	ownedRecords: ownedRecords[wire.Peer]{
		key: func(p *wire.Peer) kvstore.Key { return PeerKey(keyOfPeer(p)) },
		facts: func(p *wire.Peer) facts {
			return facts{token: p.OwnerToken, generation: p.Generation, updatedAt: p.UpdatedAt}
		},
		stamped: stampedPeer,
	},
	same: samePeer,
}

// keyOfPeer names a peer; nothing is in it that the peer is not named by.
func keyOfPeer(p *wire.Peer) wire.PeerKey {
	k := wire.PeerKey{AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID}
	if k.NodeRID == "" {
		k.Endpoint = p.Endpoint
	}
	return k
}

// stampedPeer is what the service stores of a peer that was sent.
func stampedPeer(sent *wire.Peer, g wire.Generation, updatedAt wire.Instant) *wire.Peer {
	p := *sent
	p.Generation, p.UpdatedAt = g, updatedAt
	return &p
}

func samePeer(a, b *wire.Peer) bool {
	return a.OwnerToken == b.OwnerToken &&
		keyOfPeer(a) == keyOfPeer(b) &&
		a.Endpoint == b.Endpoint &&
		a.Weight == b.Weight &&
		a.Draining == b.Draining &&
		a.Value == b.Value &&
		maps.Equal(a.Metadata, b.Metadata) &&
		slices.Equal(a.Capabilities, b.Capabilities)
}

// UpdatePeer stores a peer, as its intent and the row allow.
//
// Reads: the writer's lease, the row, and the lease of the row's owner. Writes: the
// row. Errors: *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted
// among them.
func UpdatePeer(tx *kvstore.Tx, req *wire.PeerUpdateRequest) (*wire.UpdateReply, error) {
	return peers.update(tx, &req.Peer, req.Intent)
}

// RemovePeer removes a peer if it carries the token of the request, which need not
// be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemovePeer(tx *kvstore.Tx, req *wire.PeerRemoveRequest) (*wire.RemoveReply, error) {
	return peers.remove(tx, PeerKey(req.Key), req.Owner)
}

// ListPeers lists the peers that match a filter and come after a row, in byte order
// of auto-connect type, mesh, role, and routing id or endpoint. It returns the key
// to go on after, empty at the end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListPeers(v kvstore.View, req *wire.PeerListRequest, after kvstore.Key, p Page) ([]wire.PeerItem, kvstore.Key, error) {
	filter := filterOf(req.Filter)
	return listOwned(v, &peers.ownedRecords, ownedList[wire.Peer, wire.PeerItem]{
		rows: peerRows(v, &filter, after), liveOnly: req.LiveOnly,
		match: func(p *wire.Peer) bool { return asked(filter.Endpoint, p.Endpoint) },
		item: func(p *wire.Peer, s wire.RowState) *wire.PeerItem {
			return &wire.PeerItem{Peer: *p, RowState: s}
		},
	}, p)
}

// peerRows lists the peers whose keys match a filter, so that a row which is lost
// fails no list that it cannot be in.
func peerRows(v kvstore.View, f *wire.PeerFilter, after kvstore.Key) iter.Seq[*kvstore.Row] {
	rows := scanOf(v, after, FamilyPeer, string(f.AutoConnectType), f.MeshName, string(f.Role))
	return func(yield func(*kvstore.Row) bool) {
		for r := range rows {
			k, ok := parsePeerKey(r.Key)
			if ok && !matchesPeerKey(f, k) {
				continue
			}
			if !yield(r) {
				return
			}
		}
	}
}

func matchesPeerKey(f *wire.PeerFilter, k wire.PeerKey) bool {
	return asked(f.AutoConnectType, k.AutoConnectType) &&
		asked(f.MeshName, k.MeshName) &&
		asked(f.Role, k.Role) &&
		asked(f.NodeRID, k.NodeRID) &&
		(k.Endpoint == "" || asked(f.Endpoint, k.Endpoint))
}

func peerEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	key, _ := parsePeerKey(k.key) // only keys that can be parsed are owned
	p, err := peers.decodeAny(r)
	return &wire.PeerEvent{EventHead: head, PeerKey: key, Value: p}, err
}
