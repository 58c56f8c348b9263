package domain

import (
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// The last part of a peer's key is what names the peer, in the order of its bytes:
//
//	bytes   of the routing id, or of the endpoint of a peer without one; a NUL,
//	        which only routing ids have, is 00 FF
//	00      end of the name
//	byte    "e" or "r": which of the two it is
//
// So a peer without routing id is none that has its endpoint's bytes for one.
const (
	peerEscapedNUL = "\x00\xff"
	peerByEndpoint = kvstore.Separator + "e"
	peerByRID      = kvstore.Separator + "r"
)

// PeerKey is the key of a peer: its routing id decides, if it has one.
func PeerKey(k wire.PeerKey) kvstore.Key {
	name := k.Endpoint + peerByEndpoint
	if k.NodeRID != "" {
		name = strings.ReplaceAll(string(k.NodeRID), kvstore.Separator, peerEscapedNUL) + peerByRID
	}
	return kvstore.NewKey(FamilyPeer, string(k.AutoConnectType), k.MeshName, string(k.Role), name)
}

// parsePeerKey reads what PeerKey writes; false for any other key.
func parsePeerKey(k kvstore.Key) (wire.PeerKey, bool) {
	const segments = 5
	s := k.Split(segments)
	if len(s) != segments {
		return wire.PeerKey{}, false
	}
	p := wire.PeerKey{AutoConnectType: wire.AutoConnectType(s[1]), MeshName: s[2], Role: wire.PeerRole(s[3])}
	if endpoint, ok := strings.CutSuffix(s[4], peerByEndpoint); ok {
		p.Endpoint = endpoint
	} else {
		rid := strings.TrimSuffix(s[4], peerByRID)
		p.NodeRID = wire.RID(strings.ReplaceAll(rid, peerEscapedNUL, kvstore.Separator))
	}
	return p, PeerKey(p) == k
}

// splitPeer is the split of the family: peers that differ in type or role have the
// same scope and id.
func splitPeer(k kvstore.Key) (scope, id string, ok bool) {
	p, ok := parsePeerKey(k)
	if p.NodeRID != "" {
		return p.MeshName, string(p.NodeRID), ok
	}
	return p.MeshName, p.Endpoint, ok
}
