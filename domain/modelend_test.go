package domain_test

import (
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// reservedFor finds the reservation that a request wants to end: the rows about
// version and target of 6.3, 6.4 and 6.5.
func (m *model) reservedFor(k wire.ObjectKey, reservationID string, v wire.Version, t wire.Target) (modelObject, bool) {
	o, ok := m.objects[modelText(k)]
	return o, ok && o.reserved() && o.reservationID == reservationID && o.StoreVersion == v && o.target() == t
}

// activate stores a reserved object as it is when it exists, under a revision.
func (m *model) activate(o modelObject, rev kvstore.Revision, payload wire.Bytes, j *wire.Membership) *wire.Authority {
	a := *o.Allocation
	a.State = wire.AllocationActive
	o.Allocation, o.PendingCreation, o.Payload, o.Membership = &a, nil, payload, j
	o.StoreVersion = modelVersion(rev)
	m.objects[o.Key] = o
	return m.snapshot(o)
}

// commit is 6.3.
func (m *model) commit(req *wire.ObjectCommitRequest) (*wire.ObjectCommitReply, error) {
	if o, ok := m.objects[modelText(req.Key)]; ok && !o.reserved() && o.reservationID == req.ReservationID {
		return &wire.ObjectCommitReply{Kind: wire.KindAlreadyCommitted, Ready: m.snapshot(o)}, nil
	}
	o, ok := m.reservedFor(req.Key, req.ReservationID, req.ExpectedStoreVersion, req.Target)
	if !ok || !m.liveTarget(req.Target) {
		return &wire.ObjectCommitReply{Kind: wire.KindStale}, nil
	}
	rev, ok := m.take(1)
	if !ok {
		return &wire.ObjectCommitReply{Kind: wire.KindGenerationExhausted}, nil
	}
	return &wire.ObjectCommitReply{Kind: wire.KindCommitted, Ready: m.activate(o, rev, req.ReadyPayload, nil)}, nil
}

// abort is 6.4.
func (m *model) abort(req *wire.ObjectAbortRequest) (*wire.ObjectAbortReply, error) {
	stale, mark := &wire.ObjectAbortReply{Kind: wire.KindStale}, markName(req.Key, req.ReservationID)
	o, ok := m.objects[modelText(req.Key)]
	if !ok || !o.reserved() || o.reservationID != req.ReservationID {
		if m.marks[mark] > m.now {
			return &wire.ObjectAbortReply{Kind: wire.KindAlreadyAborted}, nil
		}
		return stale, nil
	}
	if o.StoreVersion != req.ExpectedStoreVersion || o.target() != req.Target || !m.live(o.token()) {
		return stale, nil
	}
	if _, ok := m.take(2); !ok {
		return nil, kvstore.ErrExhausted
	}
	delete(m.objects, o.Key)
	m.marks[mark] = m.now + 300_000
	return &wire.ObjectAbortReply{Kind: wire.KindAborted}, nil
}

// complete is 6.5.
func (m *model) complete(req *wire.ObjectCompleteCreationRequest) (*wire.ObjectCompleteCreationReply, error) {
	c := req.Completion
	expires := c.Terminal.OperationDeadline + 300_000
	if expires <= m.now {
		return nil, &wire.InvalidError{Field: "completion.terminal.operationDeadline"}
	}
	if t := m.terminal(c.Terminal.Operation); t != nil {
		return &wire.ObjectCompleteCreationReply{Kind: wire.KindAlreadyCompleted, Terminal: t}, nil
	}
	o, ok := m.reservedFor(req.Key, req.ReservationID, req.ExpectedStoreVersion, req.Target)
	if !ok || !m.liveTarget(req.Target) || !m.accepts(nil, c.Membership) {
		return &wire.ObjectCompleteCreationReply{Kind: wire.KindStale}, nil
	}
	rev, ok := m.take(2)
	if !ok {
		return &wire.ObjectCompleteCreationReply{Kind: wire.KindGenerationExhausted}, nil
	}
	m.terminals[c.Terminal.Operation] = wire.TerminalRecord{
		State: c.Kind, Operation: c.Terminal.Operation, ReservationID: req.ReservationID, ObjectKind: wire.ObjectActor,
		TerminalEnvelope: c.Terminal.TerminalEnvelope, TerminalEnvelopeSHA256: c.Terminal.TerminalEnvelopeSHA256, ExpiresAt: expires,
	}
	reply := &wire.ObjectCompleteCreationReply{Kind: wire.Kind(c.Kind), Terminal: m.terminal(c.Terminal.Operation)}
	if c.Kind == wire.CompletionCreated {
		reply.Ready = m.activate(o, rev, c.ReadyPayload, c.Membership)
	} else {
		delete(m.objects, o.Key)
	}
	return reply, nil
}

func (m *model) terminal(o wire.OperationKey) *wire.TerminalRecord {
	t, ok := m.terminals[o]
	if !ok || t.ExpiresAt <= m.now {
		return nil
	}
	t.StoreNow = m.now
	return &t
}

func (m *model) readTerminal(req *wire.ObjectReadTerminalRequest) *wire.ObjectReadTerminalReply {
	if t := m.terminal(req.Operation); t != nil {
		return &wire.ObjectReadTerminalReply{Kind: wire.KindFound, Record: t}
	}
	return &wire.ObjectReadTerminalReply{Kind: wire.KindMissing, StoreNow: m.now}
}

// releaseEnded is 6.7.
func (m *model) releaseEnded(req *wire.ObjectReleaseEndedRequest) (*wire.ObjectReleaseEndedReply, error) {
	o, ok := m.objects[modelText(req.Key)]
	if !ok || o.StoreVersion != req.ExpectedStoreVersion || !o.reserved() || !m.ended(o) {
		return &wire.ObjectReleaseEndedReply{Kind: wire.KindStale}, nil
	}
	if _, ok := m.take(1); !ok {
		return nil, kvstore.ErrExhausted
	}
	delete(m.objects, o.Key)
	return &wire.ObjectReleaseEndedReply{Kind: wire.KindReleased}, nil
}

// compareExchange is 5.3.
func (m *model) compareExchange(req *wire.AuthorityCompareExchangeRequest) (*wire.AuthorityCompareExchangeReply, error) {
	o, ok := m.objects[modelText(req.Key)]
	if !ok || m.locked(o.Key) || o.reserved() || o.StoreVersion != req.ExpectedStoreVersion || !m.mutable(o, &req.Mutation) {
		return &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{Kind: wire.KindConflict}, Current: m.read(req.Key)}, nil
	}
	rev, ok := m.take(1)
	if !ok {
		return &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{Kind: wire.KindGenerationExhausted}}, nil
	}
	c := &req.Mutation
	switch c.Kind {
	case wire.AuthorityDelete:
		delete(m.objects, o.Key)
		return &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{
			Kind: wire.KindDeleted, StoreVersion: o.StoreVersion, StoreNow: m.now,
		}}, nil
	case wire.AuthorityRebind:
		o.OwnerLeaseGeneration = c.TargetOwner.LeaseGeneration
	case wire.AuthorityReincarnate:
		o.ObjectGeneration, o.AuthorityOwnerGeneration = wire.Generation(rev), wire.Generation(rev)
		o.reservationID = ""
	}
	if c.Phase != "" {
		o.Phase = c.Phase
	}
	if c.Membership != nil {
		o.Membership = c.Membership
	}
	o.Payload, o.StoreVersion = c.Payload, modelVersion(rev)
	m.objects[o.Key] = o
	s := m.snapshot(o)
	s.Kind = wire.KindStored
	return &wire.AuthorityCompareExchangeReply{Authority: *s}, nil
}

// mutable is rows 5 to 9 of 5.3.
func (m *model) mutable(o modelObject, c *wire.AuthorityMutation) bool {
	switch c.Kind {
	case wire.AuthorityRebind:
		t := o.target()
		t.Owner = *c.TargetOwner
		return *c.ExpectedOwner == o.token() && m.liveTarget(t)
	case wire.AuthorityRestore:
		return *c.ExpectedOwner == o.token()
	}
	return m.live(o.token()) && (c.Kind != wire.AuthorityPut || m.accepts(o.Membership, c.Membership))
}

// entry, find and list are 6.8.
func (m *model) entry(o modelObject) wire.ObjectEntry {
	state := wire.EntryUnavailable
	if o.reserved() {
		state = wire.EntryCreating
	} else if m.live(o.token()) {
		state = wire.EntryReady
	}
	return wire.ObjectEntry{
		GlobalID: o.globalID, ObjectGeneration: o.ObjectGeneration, MeshName: o.Allocation.Descriptor.MeshName,
		NodeRID: o.Allocation.Descriptor.RID, State: state, StableType: o.Allocation.StableType,
	}
}

func (m *model) find(req *wire.ObjectFindRequest) *wire.ObjectFindReply {
	kind := wire.ObjectUserSpot
	if req.Kind == wire.LookupActor {
		kind = wire.ObjectActor
	}
	o, ok := m.objects[modelText(wire.ObjectKey{Kind: kind, GlobalID: req.GlobalID})]
	if !ok {
		return &wire.ObjectFindReply{Kind: wire.KindMissing, StoreNow: m.now}
	}
	e := m.entry(o)
	return &wire.ObjectFindReply{Kind: wire.KindFound, Entry: &e}
}

func (m *model) list(req *wire.ObjectListRequest) (entries []wire.ObjectEntry) {
	all := slices.DeleteFunc(m.sorted(), func(o modelObject) bool {
		a := o.Allocation
		return a.ObjectKind != req.ObjectKind || (req.StableType != "" && a.StableType != req.StableType) ||
			(req.MeshName != "" && a.Descriptor.MeshName != req.MeshName) || (req.LiveOnly && !m.live(o.token()))
	})
	for _, o := range all {
		entries = append(entries, m.entry(o))
	}
	return entries
}

// await is the condition of 6.8: nil while it does not hold.
func (m *model) await(req *wire.ObjectAwaitRequest) *wire.Authority {
	o, ok := m.objects[modelText(req.Key)]
	holds := !ok || !o.reserved()
	if req.Until == wire.AwaitChanged {
		holds = ok
		if req.SinceVersion != "" {
			holds = !ok || o.StoreVersion != req.SinceVersion
		}
	}
	if !holds {
		return nil
	}
	return m.read(req.Key)
}
