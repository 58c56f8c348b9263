package domain

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
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
	// them, in text form, and staged participants by theirs, so that one of the two is
	// enough; those that nobody can read are under unreadableValue.
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
	// Settled says that no participant needs the staged data any more, some of which may
	// be deleted.
	Settled bool `json:"settled,omitzero"`
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
	// checked says that the plan fits the state that the row was written on, as the
	// transaction has seen that writes it. It is never set of a row that was decoded.
	checked bool
}

func (a *aggregate) is(s wire.AggregateState) bool { return a != nil && a.State == s }

// unsettled tells whether participants are changed, and perhaps not all settled.
func (a *aggregate) unsettled() bool {
	return a.is(wire.AggregateCommitted) && !a.Settled && !a.Cleaned
}

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
	case a.Settled && a.State != wire.AggregateCommitted:
		return fmt.Errorf("aggregate that is %s, settled", a.State)
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

// aggregateIndexes is what follows for indexes from an aggregate. One
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

// aggregateAmounts is what follows for sums from an aggregate: the
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
// Reads: the staged rows that name the authority, their aggregates. Errors:
// *kvstore.DataLostError, also when there is an aggregate of which nobody can tell who
// takes part.
func lockOf(v kvstore.View, k kvstore.Key) (*aggregate, error) {
	for a, err := range preparedUnder(v, authorityText(k)) {
		return a, err
	}
	for a, err := range preparedUnder(v, unreadableValue) {
		if err == nil {
			err = a.checkKnown(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// preparedUnder lists the aggregates that are prepared and have rows under a value of
// indexTakesPart.
func preparedUnder(v kvstore.View, value string) iter.Seq2[*aggregate, error] {
	return func(yield func(*aggregate, error) bool) {
		for r := range v.Index(indexTakesPart, value) {
			f, err := fenceOf(r.Key)
			if err != nil {
				err = lost(r, err)
			}
			var a *aggregate
			if err == nil {
				a, err = findAggregate(v, f)
			}
			if (err != nil || a.is(wire.AggregatePrepared)) && !yield(a, err) {
				return
			}
		}
	}
}

// checkKnown returns a *kvstore.DataLostError unless it is known who takes part in a
// prepared aggregate: from the pages of its inventory or from the staged participants.
func (a *aggregate) checkKnown(v kvstore.View) error {
	byPages := a.readable(v, FamilyInventory)
	if byPages == nil {
		if n, _ := a.listed(v); n == int(a.Request.ParticipantCount) {
			return nil
		}
	}
	byParticipants := a.readable(v, FamilyParticipant)
	if byParticipants == nil && v.Sum(stagedSum(a.Fence)) == int64(a.Request.ParticipantCount) {
		return nil
	}
	return cmp.Or(byPages, byParticipants, errIncomplete(a.Fence))
}

// readable returns the *kvstore.DataLostError of a row of a family and the aggregate that
// nobody can read.
func (a *aggregate) readable(v kvstore.View, family string) error {
	for r := range v.Index(indexTakesPart, unreadableValue) {
		if r.Key.HasPrefix(indexPrefix(family, a.Fence)) {
			return unreadable(r)
		}
	}
	return nil
}

// unreadable is the error of a staged row that nobody can read.
func unreadable(r *kvstore.Row) (err error) {
	if r.Key.HasPrefix(inventoryPrefix) {
		_, err = decodePage(r)
	} else {
		_, err = decodeStaged(r)
	}
	return err
}

// errIncomplete is about an aggregate whose participants are not all known.
func errIncomplete(f wire.Fence) error {
	return &kvstore.DataLostError{Key: AggregateKey(f), Cause: errors.New("staged data of participants is missing")}
}

func isLocked(v kvstore.View, k kvstore.Key) (bool, error) {
	a, err := lockOf(v, k)
	return a != nil, err
}
