package domain

import (
	"bytes"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// stampName says by which name the scopes of a kind are told apart.
type stampName uint8

const (
	byNothing stampName = iota
	byMesh
	byChannel
)

// stampNames lists the kinds of rows that have change stamps.
var stampNames = map[wire.StampKind]stampName{
	wire.StampMeshNode:        byMesh,
	wire.StampClientServer:    byChannel,
	wire.StampFanoutPublisher: byChannel,
	wire.StampPeer:            byMesh,
	wire.StampSpot:            byMesh,
	wire.StampActor:           byMesh,
	wire.StampRoute:           byNothing,
	wire.StampAuthority:       byNothing,
	wire.StampOwnerLease:      byNothing,
}

// stampScope names what a stamp of the store is about: a kind of row or, with a
// name, the rows of one mesh or channel.
func stampScope(kind wire.StampKind, name string) string {
	if name == "" {
		return string(kind)
	}
	return string(kind) + kvstore.Separator + name
}

// GetChangeStamp returns the revision of the last change in a scope, 0 if there
// never was one.
//
// Reads: the stamp.
func GetChangeStamp(v kvstore.View, req *wire.ChangeStampGetRequest) (*wire.ChangeStampGetReply, error) {
	scope := stampScope(req.Kind, req.MeshName+req.ChannelName) // at most one is there
	return &wire.ChangeStampGetReply{Stamp: wire.Revision(v.Stamp(scope))}, nil
}

// stampsOf is the Stamp function of the schema. A lease moves its stamp to the
// revision of its claim, so that renewals do not move it.
func stampsOf(e kvstore.Entry) []kvstore.Stamp {
	if e.Key.HasPrefix(kvstore.Prefix(FamilyLease)) {
		s := kvstore.Stamp{Scope: stampScope(wire.StampOwnerLease, "")}
		if e.Row != nil {
			h, err := headOf(e.Row)
			if err != nil {
				return nil
			}
			s.Revision = kvstore.Revision(h.token.LeaseGeneration)
		}
		return []kvstore.Stamp{s}
	}
	if isAuthority(e.Key) {
		return []kvstore.Stamp{{Scope: stampScope(wire.StampAuthority, ""), Revision: settledFor(e.Row)}}
	}
	if e.Key.HasPrefix(aggregatePrefix) {
		return aggregateStamps(e.Row)
	}
	if k, ok := splitOwned(e.Key); ok {
		stamps := []kvstore.Stamp{{Scope: stampScope(k.stamp, "")}, {Scope: stampScope(k.stamp, k.scope)}}
		if stampNames[k.stamp] == byNothing {
			stamps = stamps[:1]
		}
		return stamps
	}
	return nil
}

// settledFor is the revision that a settled authority shows; 0 for any other row. The
// record is looked into only when it can be one: that is rare.
func settledFor(r *kvstore.Row) kvstore.Revision {
	if r == nil || !bytes.Contains(r.Value, []byte("visibleRevision")) {
		return 0
	}
	h, err := authorityHeadOf(r)
	if err != nil {
		return 0
	}
	return kvstore.Revision(h.visibleRevision)
}

// lockScope is the scope of a stamp that no caller can ask for: an aggregate has locked
// its participants.
const lockScope = "lock"

// aggregateStamps are what an aggregate moves. A commit changes its participants.
func aggregateStamps(r *kvstore.Row) []kvstore.Stamp {
	if r == nil {
		return nil
	}
	a, err := kvstore.Decoded(r, decodeAggregate)
	switch {
	case err != nil || a.is(wire.AggregatePrepared):
		return []kvstore.Stamp{{Scope: lockScope}}
	case a.Commit != 0:
		return []kvstore.Stamp{{Scope: stampScope(wire.StampAuthority, ""), Revision: kvstore.Revision(a.Commit)}}
	}
	return nil
}
