package peers

import (
	"context"

	"github.com/zlink/zlink-nats/wire"
)

// Key names a connection.
type Key struct {
	Role     wire.PeerRole
	RID      wire.RID // empty when the peer has none
	Endpoint string   // as normalized; only of a peer without RID
	// Generation is that of the peer's row. It changes when the row is claimed anew, which is when the peer has lost its lease.
	Generation wire.Generation
}

// identity names a peer: there is one connection to it at a time, whatever its generation.
type identity struct {
	role     wire.PeerRole
	rid      wire.RID
	endpoint string
}

func (k Key) identity() identity { return identity{k.Role, k.RID, k.Endpoint} }

// Target is a peer to connect to.
type Target struct {
	Key Key
	// Endpoint is where to connect to, as normalized.
	Endpoint string
	// Row is the peer's row as it was listed when the connection became wanted.
	Row wire.Peer
}

func targetOf(p wire.Peer) Target {
	t := Target{Key: Key{Role: p.Role, RID: p.NodeRID, Generation: p.Generation}, Endpoint: NormalizeEndpoint(p.Endpoint), Row: p}
	if p.NodeRID == "" {
		t.Key.Endpoint = t.Endpoint
	}
	return t
}

// same tells whether a connection to t is one to other.
func (t Target) same(other Target) bool {
	return t.Key == other.Key && t.Endpoint == other.Endpoint && t.Row.OwnerToken == other.Row.OwnerToken
}

// Connection is a connection that stands.
type Connection interface {
	// Done is closed when the connection is gone, on whichever side it ended.
	Done() <-chan struct{}
	// Close ends the connection and returns when it is gone; a new one to the same peer is made only then. It is called once,
	// also when the connection is gone already. An error is recorded, and the connection counts as gone.
	Close() error
}

// Dial connects to a peer. It returns when the connection stands, or why it was refused. The end of the context says that the
// connection is not wanted any more; one that is returned all the same is closed.
type Dial func(ctx context.Context, t Target) (Connection, error)

// DesiredSetChanged says that other peers are to be connected to than before. Spec: domain 15.8.
type DesiredSetChanged struct {
	AutoConnectType wire.AutoConnectType
	MeshName        string
	// ConnectedEndpoints are those of the targets that are wanted now, DisconnectedEndpoints of those that were, sorted; a target
	// that another one replaced is in both lists. One of them is not empty.
	ConnectedEndpoints, DisconnectedEndpoints []string
}
