package histories_test

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/wire"
)

// object is one object in the model: its record, and what outlives it. Whether owners are live, nodes serve and have room is not
// part of it: an answer that depends on that is allowed both ways here, and judged by [chronicle].
type object struct {
	state       wire.AllocationState // "": there is none
	reservation string
	version     uint64
	payload     string
	node        wire.RID
	lifecycle   wire.Generation
	owner       wire.OwnerToken
	generation  wire.Generation // objectGeneration
	ownership   wire.Generation // authorityOwnerGeneration
	phase       wire.Phase
	membership  string

	lock  int  // the aggregate that is prepared for it; 0 is none
	short bool // which the service may abort

	floor     uint64 // no version up to this one comes any more
	aborted   string // reservations that have an abort mark
	terminals string // operations that have an outcome, and which
}

var objectModel = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{object{}} },
	Step:              func(state, input, _ any) []any { return anys(state.(object).step(input.(*call))) },
	DescribeOperation: func(input, _ any) string { return input.(*call).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// objectOf is what a record says of an object.
func objectOf(a *wire.Authority) object {
	o := object{
		state: a.Allocation.State, version: versionOf(a.StoreVersion), payload: string(a.Payload),
		node: a.Allocation.Descriptor.RID, lifecycle: a.Allocation.DescriptorLifecycleGeneration, owner: ownerOf(a),
		generation: a.ObjectGeneration, ownership: a.AuthorityOwnerGeneration, phase: a.Phase,
	}
	if a.PendingCreation != nil {
		o.reservation = a.PendingCreation.ReservationID
	}
	if a.Membership != nil {
		o.membership = text(a.Membership)
	}
	return o
}

// is tells whether a record is that of the object as it is.
func (o object) is(a *wire.Authority) bool {
	if a == nil || o.state == "" {
		return false
	}
	if a.Allocation.State == wire.AllocationActive {
		o.reservation = "" // not shown any more
	}
	o.lock, o.short, o.floor, o.aborted, o.terminals = 0, false, 0, "", ""
	return o == objectOf(a)
}

// shows tells whether an answer shows the object as it is, which may be that there is none.
func (o object) shows(c *call) bool {
	if o.state == "" {
		return c.missing()
	}
	return o.is(c.snapshot())
}

// become is the object after a write that stored a record, with what outlives it. The version must be a new one.
func (o object) become(a *wire.Authority, reservation string) []object {
	if a == nil {
		return nil
	}
	next := objectOf(a)
	next.reservation, next.floor, next.aborted, next.terminals = reservation, next.version, o.aborted, o.terminals
	return next.only(next.version > o.floor)
}

// gone is the object after it was removed.
func (o object) gone() object {
	return object{floor: o.floor, aborted: o.aborted, terminals: o.terminals}
}

// only is the state, if what the answer says holds.
func (o object) only(holds bool) []object {
	if holds {
		return []object{o}
	}
	return nil
}

// step are the states in which an object can be after a call that was answered as it was; there is none if it cannot be.
func (o object) step(c *call) []object {
	states := o.decide(c)
	if o.short {
		o.lock, o.short = 0, false
		states = append(states, o.decide(c)...)
	}
	return states
}

func (o object) decide(c *call) []object {
	switch {
	case c.outcome == unknown && c.group != nil:
		return append(o.mayHaveInGroup(c), o)
	case c.outcome == unknown:
		return append(o.mayHave(c), o)
	case c.group != nil:
		return o.inGroup(c)
	}
	switch r := c.request.(type) {
	case *wire.AuthorityReadRequest:
		return o.only(o.shows(c))
	case *wire.ObjectFindRequest:
		return o.only(o.found(c.reply.(*wire.ObjectFindReply)))
	case *wire.AggregateFindRequest:
		return o.only(o.shownLocked(c.reply.(*wire.AggregateFindReply)))
	case *wire.ObjectReserveRequest, *wire.ObjectPlaceRequest:
		return o.create(creationOf(r), c)
	case *wire.ObjectCommitRequest:
		return o.commit(r, c)
	case *wire.ObjectAbortRequest:
		return o.abort(r, c.reply.(*wire.ObjectAbortReply).Kind)
	case *wire.ObjectCompleteCreationRequest:
		return o.complete(r, c)
	case *wire.ObjectReleaseEndedRequest:
		if c.removes() {
			return o.gone().only(o.state == wire.AllocationReserved && o.version == versionOf(r.ExpectedStoreVersion))
		}
		return o.only(true) // 6.7 rows 1 to 3: not there, or not ended
	case *wire.AuthorityCompareExchangeRequest:
		return o.exchange(r, c)
	case *wire.OwnerRemoveAllRequest:
		return o.gone().only(o.state != "" && o.owner == r.Owner && o.lock == 0)
	}
	return nil
}

// found is 6.8.
func (o object) found(r *wire.ObjectFindReply) bool {
	if r.Kind == wire.KindMissing {
		return o.state == ""
	}
	e := r.Entry
	return o.state != "" && (e.State == wire.EntryCreating) == (o.state == wire.AllocationReserved) &&
		e.ObjectGeneration == o.generation && e.NodeRID == o.node
}

// creationRequest is what reserve and place have in common.
type creationRequest struct {
	reservation string
	payload     string
	ended       wire.EndedOwner
	target      *wire.Target // nil: anywhere
}

func creationOf(req any) creationRequest {
	switch r := req.(type) {
	case *wire.ObjectReserveRequest:
		return creationRequest{r.ReservationID, string(r.CreatingPayload), r.EndedOwner, &r.Target}
	case *wire.ObjectPlaceRequest:
		return creationRequest{r.ReservationID, string(r.CreatingPayload), r.EndedOwner, nil}
	}
	panic(fmt.Sprintf("%T creates nothing", req))
}

// at tells whether an object is where a request has it.
func (o object) at(t *wire.Target) bool {
	return o.node == t.NodeRID && o.lifecycle == t.NodeLifecycleGeneration && o.owner == t.Owner
}

// same is "same content" of 6.1 with the same reservation.
func (o object) same(r creationRequest) bool {
	return o.state == wire.AllocationReserved && o.reservation == r.reservation && o.payload == r.payload &&
		(r.target == nil || o.at(r.target))
}

// yields tells whether a reservation can take the place of what is there: 6.1 rows 2 and 8, liveness aside.
func (o object) yields(r creationRequest) bool {
	return o.state != wire.AllocationActive || r.ended == wire.EndedOwnerRelease && o.phase == wire.PhaseSteady && o.lock == 0
}

// create is 6.1 and 6.6.
func (o object) create(r creationRequest, c *call) []object {
	reply := c.reply.(*wire.ObjectReserveReply)
	switch {
	case reply.Kind == wire.KindReserved && o.same(r) && o.is(reply.Creating):
		return o.only(true)
	case reply.Kind == wire.KindReserved:
		return o.reserved(r, reply.Creating)
	case reply.Kind == wire.KindAlreadyExists:
		return o.only(o.state == wire.AllocationActive && o.shows(c))
	case reply.Reason == wire.ReasonReserved:
		return o.only(o.state == wire.AllocationReserved && !o.same(r) && o.shows(c))
	case reply.Reason == wire.ReasonTargetUnavailable:
		return o.only(o.yields(r) && o.shows(c))
	case reply.Reason == wire.ReasonInAggregate:
		return o.only(o.lock != 0 && r.ended == wire.EndedOwnerRelease && o.shows(c))
	case reply.Reason == wire.ReasonNotSteady:
		return o.only(o.state == wire.AllocationActive && o.lock == 0 && o.phase != wire.PhaseSteady &&
			r.ended == wire.EndedOwnerRelease && o.shows(c))
	case reply.Kind == wire.KindPlacementCapacityExhausted, reply.Kind == wire.KindNoTarget:
		return o.only(o.yields(r))
	}
	return nil
}

func (o object) reserved(r creationRequest, a *wire.Authority) []object {
	if !o.yields(r) {
		return nil
	}
	n := objectOf(a)
	begins := wire.Generation(n.version)
	if n.state != wire.AllocationReserved || n.reservation != r.reservation || n.payload != r.payload ||
		n.phase != wire.PhaseSteady || n.membership != "" || n.generation != begins || n.ownership != begins ||
		r.target != nil && !n.at(r.target) {
		return nil
	}
	return o.become(a, r.reservation)
}

// reservedAs tells whether the object is reserved as a request that ends the reservation says.
func (o object) reservedAs(reservation string, v wire.Version, t *wire.Target) bool {
	return o.state == wire.AllocationReserved && o.reservation == reservation && o.version == versionOf(v) && o.at(t)
}

// commit is 6.3.
func (o object) commit(r *wire.ObjectCommitRequest, c *call) []object {
	before := o.state == wire.AllocationActive && o.reservation == r.ReservationID
	switch c.reply.(*wire.ObjectCommitReply).Kind {
	case wire.KindAlreadyCommitted:
		return o.only(before && o.shows(c))
	case wire.KindStale:
		return o.only(!before)
	case wire.KindCommitted:
		if o.reservedAs(r.ReservationID, r.ExpectedStoreVersion, &r.Target) {
			return o.made(c.snapshot(), r.ReadyPayload)
		}
	}
	return nil
}

// made is the object when its creation has ended well.
func (o object) made(a *wire.Authority, payload wire.Bytes) []object {
	if a == nil {
		return nil
	}
	want := o
	want.state, want.payload, want.version = wire.AllocationActive, string(payload), versionOf(a.StoreVersion)
	if !want.is(a) {
		return nil
	}
	return o.become(a, o.reservation)
}

// abort is 6.4.
func (o object) abort(r *wire.ObjectAbortRequest, kind wire.Kind) []object {
	reserved := o.state == wire.AllocationReserved && o.reservation == r.ReservationID
	marked := strings.Contains(o.aborted, r.ReservationID)
	switch kind {
	case wire.KindAlreadyAborted:
		return o.only(marked && !reserved)
	case wire.KindStale:
		return o.only(reserved || !marked)
	case wire.KindAborted:
		next := o.gone()
		if !marked {
			next.aborted += r.ReservationID + " "
		}
		return next.only(o.reservedAs(r.ReservationID, r.ExpectedStoreVersion, &r.Target))
	}
	return nil
}

// outcomeOf is how a creation ended, as the model keeps it: one operation is of one object here.
func outcomeOf(operation wire.OperationKey, end, reservation string) string {
	return fmt.Sprintf("%d=%s/%s ", operation.OperationID.Low, end, reservation)
}

// complete is 6.5.
func (o object) complete(r *wire.ObjectCompleteCreationRequest, c *call) []object {
	operation := r.Completion.Terminal.Operation
	known := strings.Contains(" "+o.terminals, fmt.Sprintf(" %d=", operation.OperationID.Low))
	reply := c.reply.(*wire.ObjectCompleteCreationReply)
	switch {
	case reply.Kind == wire.KindAlreadyCompleted:
		return o.only(strings.Contains(o.terminals, outcomeOf(operation, string(reply.Terminal.State), reply.Terminal.ReservationID)))
	case reply.Kind == wire.KindStale:
		return o.only(!known)
	case known || string(reply.Kind) != string(r.Completion.Kind) ||
		!o.reservedAs(r.ReservationID, r.ExpectedStoreVersion, &r.Target):
		return nil
	}
	return o.completed(r, c.snapshot())
}

func (o object) completed(r *wire.ObjectCompleteCreationRequest, ready *wire.Authority) []object {
	ends := o
	ends.terminals += outcomeOf(r.Completion.Terminal.Operation, string(r.Completion.Kind), r.ReservationID)
	if r.Completion.Kind == wire.CompletionCreated {
		return ends.made(ready, r.Completion.ReadyPayload)
	}
	return ends.gone().only(true)
}
