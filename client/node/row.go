package node

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// row is a location row of the host: one of the four families. It does not change.
type row interface {
	key() Key
	owned(wire.OwnerToken) row // a copy of an owner
	update(context.Context, *client.Client, wire.Intent) (*wire.UpdateReply, error)
	remove(context.Context, *client.Client, wire.OwnerToken) (*wire.RemoveReply, error)
}

// tracked is a row that the host has in the directory, and that is written again after a fresh claim.
type tracked struct {
	row   row
	lease wire.Generation // under which it was stored last; 0 is not known to be stored
	tried wire.Generation // under which a rewriting was answered
	doubt wire.Generation // under which a write was not answered
	other bool            // what is stored may be something else
}

// AutoIntent has the runtime choose the intent of a write: newClaim the first time under a lease, then renew.
const AutoIntent wire.Intent = ""

// PutPeer stores the row of a peer. The owner is filled in, the endpoint normalised. Nothing is sent without a usable lease:
// [ErrNotLeased]. A row that is stored, or may be, is written again after a fresh claim. A row that turns out to be somebody
// else's (ignoredStale) is not, and raises ownership-lost.
func (r *Runtime) PutPeer(ctx context.Context, p wire.Peer, intent wire.Intent) (*wire.UpdateReply, error) {
	return r.put(ctx, newPeer(p), intent)
}

// PutSpot is [Runtime.PutPeer] for the row of a spot.
func (r *Runtime) PutSpot(ctx context.Context, s wire.Spot, intent wire.Intent) (*wire.UpdateReply, error) {
	return r.put(ctx, spot{s}, intent)
}

// PutActor is [Runtime.PutPeer] for the row of an actor.
func (r *Runtime) PutActor(ctx context.Context, a wire.Actor, intent wire.Intent) (*wire.UpdateReply, error) {
	return r.put(ctx, actor{a}, intent)
}

// PutRoute is [Runtime.PutPeer] for a route.
func (r *Runtime) PutRoute(ctx context.Context, t wire.Route, intent wire.Intent) (*wire.UpdateReply, error) {
	t.Value = slices.Clone(t.Value)
	return r.put(ctx, route{t}, intent)
}

// Remove removes a row of the host, with the keys of [PeerKey], [SpotKey], [ActorKey] and [RouteKey]. A row that is not there or
// somebody else's is [wire.StatusIgnoredStale]. Whatever the error, the row is not written again after a fresh claim; with
// [ErrNotLeased] nothing was sent, and after other errors it may be there or not.
func (r *Runtime) Remove(ctx context.Context, key Key) (*wire.RemoveReply, error) {
	ctx, leave, err := r.enter(ctx, key)
	if err != nil {
		r.untrack(key)
		return nil, fmt.Errorf("remove %v: %w", key, err)
	}
	defer leave()
	r.untrack(key)
	token, err := r.Admit()
	if err != nil {
		return nil, fmt.Errorf("remove %v: %w", key, err)
	}
	w := rowOf(key)
	if w == nil {
		return nil, fmt.Errorf("remove %v: %w", key, client.ErrInvalidArgument)
	}
	reply, err := w.remove(ctx, r.o.Client, token)
	r.asked(OpCompareExchange, err)
	if err != nil {
		return nil, fmt.Errorf("remove %v: %w", key, err)
	}
	if reply.Status == wire.StatusStored {
		r.events.tell(Event{Kind: rowEvents[key.Kind].removed, Key: key})
	}
	return reply, nil
}

// rowOf is a row with nothing but its key; nil for a kind that is no row's.
func rowOf(k Key) row {
	switch k.Kind {
	case KindPeer:
		return peer{wire.Peer{
			AutoConnectType: k.AutoConnectType, MeshName: k.Scope, Role: k.Role, NodeRID: wire.RID(k.ID), Endpoint: k.Endpoint,
		}}
	case KindSpot:
		return spot{wire.Spot{MeshName: k.Scope, SpotID: k.ID}}
	case KindActor:
		return actor{wire.Actor{MeshName: k.Scope, ActorID: k.ID}}
	case KindRoute:
		return route{wire.Route{RouteKind: wire.RouteKind(k.Scope), RouteKey: k.ID}}
	}
	return nil
}

// Peers are the rows of peers that the host has in the directory: what listings must show.
func (r *Runtime) Peers() []wire.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]wire.Peer, 0, len(r.rows[KindPeer]))
	for _, t := range r.rows[KindPeer] {
		list = append(list, newPeer(t.row.(peer).p).p)
	}
	return list
}

// RepublishPeer writes the row of a peer again that a listing does not show though the host has it, as Republish of
// [peers.Options] does.
func (r *Runtime) RepublishPeer(ctx context.Context, key Key) error {
	_, err := r.rewrite(ctx, key, func(tracked, wire.OwnerToken) bool { return true })
	return err
}

// put writes a row.
func (r *Runtime) put(ctx context.Context, w row, intent wire.Intent) (*wire.UpdateReply, error) {
	key := w.key()
	ctx, leave, err := r.enter(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("put %v: %w", key, err)
	}
	defer leave()
	token, err := r.Admit()
	if err != nil {
		return nil, fmt.Errorf("put %v: %w", key, err)
	}
	reply, err := r.write(ctx, w, token, intent)
	if err != nil {
		return nil, fmt.Errorf("put %v: %w", key, err)
	}
	return reply, nil
}

// rewrite writes a row again that is tracked, if it is due.
func (r *Runtime) rewrite(ctx context.Context, key Key, due func(tracked, wire.OwnerToken) bool) (*wire.UpdateReply, error) {
	ctx, leave, err := r.enter(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("write %v again: %w", key, err)
	}
	defer leave()
	token, err := r.Admit()
	if err != nil {
		return nil, fmt.Errorf("write %v again: %w", key, err)
	}
	t := r.trackedRow(key)
	if t.row == nil || !due(t, token) {
		return nil, nil //nolint:nilnil // there is nothing to write
	}
	reply, err := r.write(ctx, t.row, token, wire.IntentNewClaim)
	if err != nil {
		return nil, fmt.Errorf("write %v again: %w", key, err)
	}
	return reply, nil
}

// write sends a row and keeps track of what became of it.
func (r *Runtime) write(ctx context.Context, w row, token wire.OwnerToken, intent wire.Intent) (*wire.UpdateReply, error) {
	key := w.key()
	reply, err := r.send(ctx, w.owned(token), r.trackedRow(key), token, intent)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.askedLocked(OpCompareExchange, err)
	was := r.rows[key.Kind][key]
	switch {
	case errors.Is(err, client.ErrOutcomeUnknown):
		t := tracked{row: w, doubt: token.LeaseGeneration, other: true}
		if was != nil {
			t.lease, t.tried = was.lease, was.tried
		}
		r.trackLocked(key, t)
		return nil, err
	case err != nil:
		return nil, err
	case reply.Status == wire.StatusStored:
		r.trackLocked(key, tracked{row: w, lease: token.LeaseGeneration, tried: token.LeaseGeneration})
		r.events.tell(Event{Kind: rowEvents[key.Kind].updated, Key: key})
		return reply, nil
	}
	r.failedLocked(OpCompareExchange, fmt.Errorf("put %v: %s", key, reply.Status))
	switch {
	case reply.Status == wire.StatusIgnoredStale:
		delete(r.rows[key.Kind], key)
		r.events.tell(Event{Kind: EventOwnershipLost, Key: key})
	case was != nil:
		was.lease, was.tried = 0, token.LeaseGeneration
	}
	return reply, nil
}

// send sends a row. Where the intent is up to the runtime, and an earlier write has no answer, the row may be there or not: what is
// refused as the one is tried as the other.
func (r *Runtime) send(ctx context.Context, w row, t tracked, token wire.OwnerToken, intent wire.Intent) (*wire.UpdateReply, error) {
	auto := intent == AutoIntent
	other := wire.IntentRenew
	if auto {
		intent = wire.IntentNewClaim
		if t.lease == token.LeaseGeneration {
			intent, other = wire.IntentRenew, wire.IntentNewClaim
		}
	}
	reply, err := w.update(ctx, r.o.Client, intent)
	if !auto || err != nil || reply.Status != wire.StatusRejectedConflict || t.doubt != token.LeaseGeneration {
		return reply, err
	}
	if now, err := r.Admit(); err != nil || now != token {
		return reply, nil //nolint:nilerr // the first answer stands
	}
	second, err := w.update(ctx, r.o.Client, other)
	if err == nil && second.Status == wire.StatusIgnoredStale {
		return reply, nil // it is somebody else's, and never was the host's
	}
	return second, err
}

func (r *Runtime) trackLocked(key Key, t tracked) {
	if r.rows[key.Kind] == nil {
		r.rows[key.Kind] = make(map[Key]*tracked)
	}
	r.rows[key.Kind][key] = &t
}

func (r *Runtime) trackedRow(key Key) tracked {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.rows[key.Kind][key]; t != nil {
		return *t
	}
	return tracked{}
}

func (r *Runtime) untrack(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rows[key.Kind], key)
}

// enter lets one writer of a row in at a time; see [Runtime.writing].
func (r *Runtime) enter(ctx context.Context, key Key) (entered context.Context, leave func(), err error) {
	ctx, done, err := r.writing(ctx)
	if err != nil {
		return nil, nil, err
	}
	line := r.lines.of(key)
	select {
	case line <- struct{}{}:
	case <-ctx.Done():
		err := context.Cause(ctx)
		done()
		return nil, nil, err
	}
	return ctx, func() { <-line; done() }, nil
}

// lines are what writers wait in for the row that they write: a fixed number for any number of rows.
type lines struct {
	seed maphash.Seed
	line []chan struct{}
}

const lineCount = 256

func newLines() lines {
	l := lines{seed: maphash.MakeSeed(), line: make([]chan struct{}, lineCount)}
	for i := range l.line {
		l.line[i] = make(chan struct{}, 1)
	}
	return l
}

func (l *lines) of(key Key) chan struct{} {
	return l.line[maphash.Comparable(l.seed, key)%uint64(len(l.line))]
}

// peer is the row of a peer.
type peer struct{ p wire.Peer }

// newPeer copies a row, with the endpoint in the form in which it is written and compared.
func newPeer(p wire.Peer) peer {
	p.Endpoint = peers.NormalizeEndpoint(p.Endpoint)
	p.Metadata, p.Capabilities = maps.Clone(p.Metadata), slices.Clone(p.Capabilities)
	return peer{p}
}

// PeerKey is the key of the row of a peer.
func PeerKey(p wire.PeerKey) Key {
	k := Key{Kind: KindPeer, Scope: p.MeshName, ID: string(p.NodeRID), AutoConnectType: p.AutoConnectType, Role: p.Role}
	if p.NodeRID == "" {
		k.Endpoint = peers.NormalizeEndpoint(p.Endpoint)
	}
	return k
}

func (p peer) wireKey() wire.PeerKey {
	return wire.PeerKey{
		AutoConnectType: p.p.AutoConnectType, MeshName: p.p.MeshName, Role: p.p.Role, NodeRID: p.p.NodeRID, Endpoint: p.p.Endpoint,
	}
}

func (p peer) key() Key { return PeerKey(p.wireKey()) }

func (p peer) owned(token wire.OwnerToken) row {
	p.p.OwnerToken = token
	return p
}

func (p peer) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.Peers.Update(ctx, wire.PeerUpdateRequest{Peer: p.p, Intent: intent})
}

func (p peer) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.Peers.Remove(ctx, wire.PeerRemoveRequest{Key: p.wireKey(), Owner: owner})
}

// spot is the row of a spot.
type spot struct{ s wire.Spot }

// SpotKey is the key of the row of a spot.
func SpotKey(mesh, id string) Key { return Key{Kind: KindSpot, Scope: mesh, ID: id} }

func (s spot) key() Key { return SpotKey(s.s.MeshName, s.s.SpotID) }

func (s spot) owned(token wire.OwnerToken) row {
	s.s.OwnerToken = token
	return s
}

func (s spot) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.Spots.Update(ctx, wire.SpotUpdateRequest{Spot: s.s, Intent: intent})
}

func (s spot) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.Spots.Remove(ctx, wire.SpotRemoveRequest{MeshName: s.s.MeshName, SpotID: s.s.SpotID, Owner: owner})
}

// actor is the row of an actor.
type actor struct{ a wire.Actor }

// ActorKey is the key of the row of an actor.
func ActorKey(mesh, id string) Key { return Key{Kind: KindActor, Scope: mesh, ID: id} }

func (a actor) key() Key { return ActorKey(a.a.MeshName, a.a.ActorID) }

func (a actor) owned(token wire.OwnerToken) row {
	a.a.OwnerToken = token
	return a
}

func (a actor) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.Actors.Update(ctx, wire.ActorUpdateRequest{Actor: a.a, Intent: intent})
}

func (a actor) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.Actors.Remove(ctx, wire.ActorRemoveRequest{MeshName: a.a.MeshName, ActorID: a.a.ActorID, Owner: owner})
}

// route is a route.
type route struct{ t wire.Route }

// RouteKey is the key of a route.
func RouteKey(kind wire.RouteKind, key string) Key {
	return Key{Kind: KindRoute, Scope: string(kind), ID: key}
}

func (t route) key() Key { return RouteKey(t.t.RouteKind, t.t.RouteKey) }

func (t route) owned(token wire.OwnerToken) row {
	t.t.OwnerToken = token
	return t
}

func (t route) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.Routes.Update(ctx, wire.RouteUpdateRequest{Route: t.t, Intent: intent})
}

func (t route) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.Routes.Remove(ctx, wire.RouteRemoveRequest{RouteKind: t.t.RouteKind, RouteKey: t.t.RouteKey, Owner: owner})
}
