package domain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// collectingTTL is how long an aggregate may be without a further stage call, in
	// milliseconds.
	collectingTTL wire.Instant = 60_000
	// defaultPrepareTTL is how long an aggregate stays prepared if its caller does not
	// say.
	defaultPrepareTTL wire.Millis = 60_000
	// endedTTL is how long an aggregate that has ended is remembered after its staged
	// data was deleted.
	endedTTL kvstore.Instant = 86_400_000
	// MaxParticipants bounds the participants of an aggregate.
	MaxParticipants = 1_000_000
)

// The indexes of aggregates.
const (
	// indexWork lists the aggregates that something is to be done about, under
	// dueValue, and those that nobody can read under unreadableValue.
	indexWork = "work"
	// indexTakesPart lists the pages of inventories by the keys of the participants in
	// them, in text form, and those that nobody can read under unreadableValue.
	indexTakesPart = "takes-part"
)

var (
	aggregatePrefix   = kvstore.Prefix(FamilyAggregate)
	inventoryPrefix   = kvstore.Prefix(FamilyInventory)
	participantPrefix = kvstore.Prefix(FamilyParticipant)
)

// AggregateKey is the key of an aggregate.
func AggregateKey(f wire.Fence) kvstore.Key { return fenceKey(FamilyAggregate, f) }

func fenceKey(family string, f wire.Fence) kvstore.Key {
	return kvstore.NewKey(family, f.AggregateID, strconv.FormatUint(uint64(f.AggregateGeneration), 10))
}

// indexKey is the key of an aggregate's row about a participant, or some from it on.
// Keys of a family and a fence are in the order of the participants.
func indexKey(family string, f wire.Fence, index uint32) kvstore.Key {
	return fenceKey(family, f) + kvstore.Key(kvstore.Separator+fmt.Sprintf("%06d", index)) // below MaxParticipants
}

// indexPrefix begins the keys of a family and a fence.
func indexPrefix(family string, f wire.Fence) kvstore.Key {
	return fenceKey(family, f) + kvstore.Separator
}

// fenceOf returns the fence in a key that indexKey or AggregateKey made.
func fenceOf(k kvstore.Key) (wire.Fence, error) {
	s := k.Split(4)
	if len(s) < 3 {
		return wire.Fence{}, errors.New("key without a fence")
	}
	g, err := strconv.ParseUint(s[2], 10, 63)
	return wire.Fence{AggregateID: s[1], AggregateGeneration: wire.Generation(g)}, err
}

// aggregateRecord is the body of an aggregate row.
type aggregateRecord struct {
	wire.Fence
	State wire.AggregateState `json:"state"`
	// Deadline is that of the state, while there is one: collecting, prepared.
	Deadline wire.Instant `json:"deadline,omitzero"`
	// Request is what the aggregate was prepared with; nil if it never was.
	Request *aggregateRequest `json:"request,omitzero"`
	// Commit is the revision of the row in which the aggregate was committed.
	Commit wire.Revision `json:"commit,omitzero"`
	// Cleaned says that participants are settled and staged data is deleted.
	Cleaned bool `json:"cleaned,omitzero"`
}

// aggregateRequest is what an aggregate keeps of its prepare.
type aggregateRequest struct {
	ParticipantCount uint32 `json:"participantCount"`
	PageCount        uint32 `json:"pageCount"`
	// PagesSHA256 is over the digests of the inventory's pages, in order.
	PagesSHA256 wire.Bytes `json:"pagesSha256"`
	// EntriesSHA256 is over the inventory's entries, however they are cut into pages.
	EntriesSHA256   wire.Bytes    `json:"entriesSha256"`
	InventoryDigest wire.Bytes    `json:"inventoryDigest"`
	Target          wire.Target   `json:"target"`
	Capacity        wire.Capacity `json:"capacity"`
	Headroom        wire.Capacity `json:"headroom"`
}

// aggregate is a decoded aggregate row. It is kept with the row and shared, and never
// changed, but for the plan.
type aggregate struct {
	aggregateRecord
	// plan is what is known of the participants while they are locked. It can always be
	// made anew from the rows.
	plan atomic.Pointer[plan]
}

func (a *aggregate) is(s wire.AggregateState) bool { return a != nil && a.State == s }

// unsettled tells whether participants are changed, and perhaps not all settled.
func (a *aggregate) unsettled() bool { return a.is(wire.AggregateCommitted) && !a.Cleaned }

func decodeAggregate(r *kvstore.Row) (*aggregate, error) {
	a := new(aggregate)
	if err := decodeRecord(r, &a.aggregateRecord); err != nil {
		return nil, err
	}
	if err := a.contradiction(r); err != nil {
		return nil, lost(r, err)
	}
	return a, nil
}

func (a *aggregate) contradiction(r *kvstore.Row) error {
	ended := a.State == wire.AggregateCommitted || a.State == wire.AggregateAborted
	switch {
	case AggregateKey(a.Fence) != r.Key:
		return fmt.Errorf("record names the aggregate %q, %d", a.AggregateID, a.AggregateGeneration)
	case !a.State.Valid():
		return fmt.Errorf("unknown state %q", a.State)
	case ended != (a.Deadline == 0), a.Cleaned && !ended, a.Cleaned != (r.Expiry != 0):
		return fmt.Errorf("aggregate that is %s, with deadline %d, cleaned %t, expiry %d", a.State, a.Deadline, a.Cleaned, r.Expiry)
	case a.Request == nil && (a.State == wire.AggregatePrepared || a.State == wire.AggregateCommitted),
		a.Request != nil && a.State == wire.AggregateCollecting:
		return fmt.Errorf("aggregate that is %s, prepared %t", a.State, a.Request != nil)
	case (a.State == wire.AggregateCommitted) != (a.Commit != 0), kvstore.Revision(a.Commit) > r.Revision:
		return fmt.Errorf("aggregate that is %s, committed at %d in a row of revision %d", a.State, a.Commit, r.Revision)
	}
	return nil
}

// findAggregate returns the aggregate of a fence; nil when there is none.
func findAggregate(v kvstore.View, f wire.Fence) (*aggregate, error) {
	r := v.Row(AggregateKey(f))
	if r == nil {
		return nil, nil
	}
	return kvstore.Decoded(r, decodeAggregate)
}

// put stores an aggregate.
func (a *aggregate) put(tx *kvstore.Tx) error {
	value, err := encodeRecord(&a.aggregateRecord)
	if err != nil {
		return err
	}
	var expiry kvstore.Instant
	if a.Cleaned {
		expiry = tx.Now() + endedTTL
	}
	_, err = tx.PutDecoded(AggregateKey(a.Fence), value, a, expiry)
	return err
}

// dueValue is the index value of what is due at an instant; 0 is now.
func dueValue(at wire.Instant) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(at)))
}

// aggregateIndexes is the part of the schema's Index that is about aggregates. One
// that nobody can read might hold room of any node: it is where the authorities are of
// which nobody can tell where they count.
func aggregateIndexes(r *kvstore.Row) []kvstore.IndexEntry {
	a, err := kvstore.Decoded(r, decodeAggregate)
	switch {
	case err != nil:
		return []kvstore.IndexEntry{
			{Index: indexWork, Value: unreadableValue}, {Index: indexHolder, Value: unreadableValue},
		}
	case a.Cleaned:
		return nil
	}
	return []kvstore.IndexEntry{{Index: indexWork, Value: dueValue(a.Deadline)}}
}

// aggregateAmounts is the part of the schema's Amounts that is about aggregates: the
// headroom of a prepared one.
func aggregateAmounts(r *kvstore.Row) (amounts []kvstore.Amount) {
	a, err := kvstore.Decoded(r, decodeAggregate)
	if err != nil || !a.is(wire.AggregatePrepared) {
		return nil
	}
	for what, n := range counts(a.Request.Headroom) {
		amounts = append(amounts, kvstore.Amount{Sum: what.sumName(wire.AllocationReserved, a.Request.Target.Node()), N: n})
	}
	return amounts
}

// lockOf returns the aggregate that locks an authority; nil when none does.
//
// Reads: the pages that list the authority, their aggregates. Errors:
// *kvstore.DataLostError, also when there is a page of which nobody can tell whom it
// lists.
func lockOf(v kvstore.View, k kvstore.Key) (*aggregate, error) {
	a, _, err := preparedOf(v, authorityText(k))
	if err != nil || a != nil {
		return a, err
	}
	_, page, err := preparedOf(v, unreadableValue)
	if err == nil && page != nil {
		_, err = decodePage(page)
	}
	return nil, err
}

// preparedOf returns the first page under a value of indexTakesPart whose aggregate is
// prepared, with that; nil when there is none.
func preparedOf(v kvstore.View, value string) (*aggregate, *kvstore.Row, error) {
	for page := range v.Index(indexTakesPart, value) {
		f, err := fenceOf(page.Key)
		if err != nil {
			return nil, nil, lost(page, err)
		}
		a, err := findAggregate(v, f)
		if err != nil || a.is(wire.AggregatePrepared) {
			return a, page, err
		}
	}
	return nil, nil, nil
}

func isLocked(v kvstore.View, k kvstore.Key) (bool, error) {
	a, err := lockOf(v, k)
	return a != nil, err
}
