package domain_test

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// rebindTo is the mutation by which an owner goes on under its next lease.
func rebindTo(expected, target wire.OwnerToken) wire.AuthorityMutation {
	return wire.AuthorityMutation{
		Kind: wire.AuthorityRebind, Payload: wire.Bytes("rebound"), ExpectedOwner: &expected, TargetOwner: &target,
	}
}

// restoreOf is the mutation restore.
func restoreOf(expected wire.OwnerToken, edits ...func(*wire.AuthorityMutation)) wire.AuthorityMutation {
	m := wire.AuthorityMutation{Kind: wire.AuthorityRestore, Payload: wire.Bytes("restored"), ExpectedOwner: &expected}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func reincarnation() wire.AuthorityMutation {
	return wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: wire.Bytes("reborn")}
}

func removal() wire.AuthorityMutation { return wire.AuthorityMutation{Kind: wire.AuthorityDelete} }

// mutations are one of each kind, such that they are carried out on an object of a
// live owner whose next token is live and has its node.
func mutations(owner, next wire.OwnerToken) map[string]wire.AuthorityMutation {
	return map[string]wire.AuthorityMutation{
		"put": putOf(), "rebindOwnerLease": rebindTo(owner, next), "restore": restoreOf(owner),
		"reincarnate": reincarnation(), "delete": removal(),
	}
}

// reclaimed lets an owner of the node n1 come back under its next lease.
func (w *world) reclaimed(token wire.OwnerToken, edits ...func(*wire.MeshNodeDescriptor)) wire.OwnerToken {
	w.t.Helper()
	w.release(token)
	next := w.claim(token.OwnerID)
	w.stored(wire.IntentTakeover, node("n1", next, edits...))
	return next
}

// unchanged sends a mutation and requires that it conflicts with the object as
// authority.read answers it, and leaves no trace.
func (w *world) unchanged(id string, v wire.Version, m wire.AuthorityMutation) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.exchange(id, v, m), &wire.AuthorityCompareExchangeReply{
			Authority: wire.Authority{Kind: wire.KindConflict}, Current: w.snapshot(id),
		})
	})
}

// joined creates an actor on n1 that belongs to the user spot r1 of the same owner and
// is recovering: everything that a snapshot of an active object may have.
func (w *world) joined(id string, owner wire.OwnerToken) *wire.Authority {
	w.t.Helper()
	w.ready("r1", "n1", owner)
	w.ready(id, "n1", owner)
	return w.changed(id, putOf(joining(w.membershipIn("r1")), toPhase(wire.PhaseRecovering)))
}

// authorityKey is the key of an object's row.
func authorityKey(id string) kvstore.Key { return domain.AuthorityKey(keyOf(id)) }

// listObjects lists all objects of a kind, a type and a mesh.
func (w *world) listObjects(req *wire.ObjectListRequest) ([]wire.ObjectEntry, error) {
	w.t.Helper()
	items, next, err := domain.ListObjects(w.view(), req, "", domain.Page{Items: 1000})
	if next != "" {
		w.t.Fatalf("list of objects: next %q", next)
	}
	return items, err
}
