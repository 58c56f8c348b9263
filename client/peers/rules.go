package peers

import (
	"github.com/zlink/zlink-nats/wire"
)

// Own says which peer the host itself is.
type Own struct {
	// AutoConnectType, MeshName and Role are those of the host's row. The peers are those of the same type and mesh.
	AutoConnectType wire.AutoConnectType
	MeshName        string
	Role            wire.PeerRole
	// RID is the host's routing id; empty when it has none.
	RID wire.RID
	// Endpoint is where the host is reached; empty when it cannot be, so that it has no row and dials everybody.
	Endpoint string
	// ObjectRole is what part the host plays for objects; empty is [wire.RoleNone].
	ObjectRole wire.ObjectRole
}

// Node is what a host knows of a peer besides its row.
type Node struct {
	// ObjectRole is what part the peer plays for objects.
	ObjectRole wire.ObjectRole
	// ServerChannel tells whether there is a channel between the two of which one is a server.
	ServerChannel bool
}

// rules decide whom a host dials.
type rules struct {
	own    Own // with a normalized endpoint
	nodeOf func(wire.Peer) Node
}

// isOwn tells whether a row is the host's.
func (r *rules) isOwn(t Target) bool {
	p := t.Row
	if p.AutoConnectType != r.own.AutoConnectType || p.MeshName != r.own.MeshName || p.Role != r.own.Role || p.NodeRID != r.own.RID {
		return false
	}
	return r.own.RID != "" || t.Endpoint == r.own.Endpoint
}

// dials tells whether the host is the one that connects, where the two connect at all. The row is live.
func (r *rules) dials(t Target) bool {
	return r.candidate(t) && r.begins(t)
}

func (r *rules) candidate(t Target) bool {
	p := t.Row
	return p.AutoConnectType == r.own.AutoConnectType && p.MeshName == r.own.MeshName && p.Role.Valid() && t.Endpoint != "" &&
		(r.own.RID == "" || p.NodeRID != r.own.RID) && t.Endpoint != r.own.Endpoint
}

// begins tells whether the host is the one of the two that dials, so that there is one connection between them.
func (r *rules) begins(t Target) bool {
	if r.own.AutoConnectType == wire.ConnectFanout {
		return r.own.Role == wire.PeerSub && t.Row.Role == wire.PeerPub
	}
	if r.own.Role != wire.PeerRouter || t.Row.Role != wire.PeerRouter || r.strangers(t.Row) {
		return false
	}
	rid := t.Row.NodeRID
	switch {
	case r.own.Endpoint == "":
		return true
	case r.own.RID == rid || r.own.RID == "" || rid == "":
		return r.own.Endpoint < t.Endpoint
	}
	return r.own.RID < rid
}

// strangers tells whether the two have nothing to say to each other: both use objects and neither serves the other.
func (r *rules) strangers(p wire.Peer) bool {
	if r.own.ObjectRole != wire.RoleClient || r.nodeOf == nil {
		return false
	}
	n := r.nodeOf(p)
	return n.ObjectRole == wire.RoleClient && !n.ServerChannel
}
