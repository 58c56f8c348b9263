package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// StoredRow is the row as it is stored, without what aggregates make of it.
func StoredRow(r *kvstore.Row) *kvstore.Row {
	for r.Over != nil {
		r = r.Over.(*projection).base
	}
	return r
}

// HeadroomOf is what an aggregate reserves, of which node; ok is false when it is not
// prepared.
func HeadroomOf(r *kvstore.Row) (node wire.DescriptorKey, c wire.Capacity, ok bool, err error) {
	a, err := decodeAggregate(r)
	if err != nil || !a.is(wire.AggregatePrepared) {
		return node, c, false, err
	}
	return a.Request.Target.Node(), a.Request.Headroom, true, nil
}

// DueOf is when an aggregate is to be worked on; 0 is now, and ok is false for never.
func DueOf(r *kvstore.Row) (at wire.Instant, ok bool) {
	a, err := decodeAggregate(r)
	if err != nil || a.Cleaned {
		return 0, false
	}
	return a.Deadline, true
}

// StagedKeyOf is the key, in text form, of a staged participant.
func StagedKeyOf(r *kvstore.Row) (string, error) {
	s, err := decodeStaged(r)
	if err != nil {
		return "", err
	}
	return s.AuthorityKey, nil
}

// ParticipantsOf are the keys, in text form, of the participants on a page.
func ParticipantsOf(page *kvstore.Row) (keys []string, err error) {
	p, err := decodePage(page)
	if err != nil {
		return nil, err
	}
	for i := range p.entries {
		keys = append(keys, p.entries[i].AuthorityKey)
	}
	return keys, nil
}

// DecodeAggregate decodes an aggregate row and returns the body of its record.
func DecodeAggregate(r *kvstore.Row) (any, error) {
	a, err := decodeAggregate(r)
	if err != nil {
		return nil, err
	}
	return &a.aggregateRecord, nil
}

// DecodePage does the same for a page of an inventory.
func DecodePage(r *kvstore.Row) (any, error) {
	if _, err := decodePage(r); err != nil {
		return nil, err
	}
	rec := new(pageRecord)
	return rec, decodeRecord(r, rec)
}

// DecodeStaged does the same for a staged participant.
func DecodeStaged(r *kvstore.Row) (any, error) {
	s, err := decodeStaged(r)
	if err != nil {
		return nil, err
	}
	return &s.stagedRecord, nil
}
