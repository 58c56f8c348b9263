package domain

import (
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// AuthorityKey is the key of an object's authority. All kinds of spots share one. It
// ends with the text form of the object's key, so authorities are in key order.
func AuthorityKey(k wire.ObjectKey) kvstore.Key { return kvstore.NewKey(FamilyAuthority, k.Text()) }

func isAuthority(k kvstore.Key) bool { return k.HasPrefix(FamilyAuthority + kvstore.Separator) }

// authorityText is the text form in the key of an authority.
func authorityText(k kvstore.Key) string { return string(k[len(FamilyAuthority+kvstore.Separator):]) }

// authorityRecord is the body of an authority row.
type authorityRecord struct {
	GlobalID                 string          `json:"globalId"`
	ObjectGeneration         wire.Generation `json:"objectGeneration"`
	AuthorityOwnerGeneration wire.Generation `json:"authorityOwnerGeneration"`
	OwnerID                  string          `json:"ownerId"`
	OwnerLeaseGeneration     wire.Generation `json:"ownerLeaseGeneration"`
	Allocation               wire.Allocation `json:"allocation"`
	// ReservationID is that of the reservation which made the row; a
	// reincarnation drops it.
	ReservationID string           `json:"reservationId,omitzero"`
	Pending       *pendingCreation `json:"pendingCreation,omitzero"` // exactly while reserved
	Phase         wire.Phase       `json:"phase"`
	Membership    *wire.Membership `json:"membership,omitzero"` // of actors only
	Payload       wire.Bytes       `json:"payload"`
	// VisibleRevision is the revision that the row shows, if it is not its own: that of
	// the aggregate that the row was settled for.
	VisibleRevision wire.Revision `json:"visibleRevision,omitzero"`
}

// pendingCreation is what a reservation keeps of the intent.
type pendingCreation struct {
	RequestContentReference string     `json:"requestContentReference"`
	RequestSHA256           wire.Bytes `json:"requestSha256"`
	RequestEncodedSize      uint32     `json:"requestEncodedSize"`
}

func (r *authorityRecord) token() wire.OwnerToken {
	return wire.OwnerToken{OwnerID: r.OwnerID, LeaseGeneration: r.OwnerLeaseGeneration}
}

func (r *authorityRecord) key() wire.ObjectKey {
	return wire.ObjectKey{Kind: r.Allocation.ObjectKind, GlobalID: r.GlobalID}
}

func (r *authorityRecord) reserved() bool { return r.Allocation.State == wire.AllocationReserved }

func (r *authorityRecord) active() bool { return r.Allocation.State == wire.AllocationActive }

// authority is a decoded authority row. It is never changed: a rule copies the
// record and stores the copy.
type authority struct {
	authorityRecord
	row *kvstore.Row
}

// hasVersion tells whether the record has the version that a caller expects.
func (a *authority) hasVersion(v wire.Version) bool { return a.version() == v }

// version is the text of the visible revision.
func (a *authority) version() wire.Version {
	return wire.Version(visibleRevision(a.VisibleRevision, a.row).String())
}

// visibleRevision is the revision that an authority row shows, whose record has one or 0.
func visibleRevision(inRecord wire.Revision, r *kvstore.Row) kvstore.Revision {
	if inRecord != 0 {
		return kvstore.Revision(inRecord)
	}
	return r.Revision
}

// decodeAuthority understands an authority row or returns a *kvstore.DataLostError.
func decodeAuthority(r *kvstore.Row) (*authority, error) {
	if p, ok := r.Over.(*projection); ok {
		return projected(r, p)
	}
	a := &authority{row: r}
	if err := decodeRecord(r, &a.authorityRecord); err != nil {
		return nil, err
	}
	if err := a.contradiction(); err != nil {
		return nil, lost(r, err)
	}
	return a, nil
}

// contradiction says what in a record cannot be.
func (a *authority) contradiction() error {
	head := authorityHead{token: a.token(), allocation: a.Allocation, visibleRevision: a.VisibleRevision}
	if a.Membership != nil {
		head.membership = *a.Membership
	}
	if err := head.contradiction(a.row); err != nil {
		return err
	}
	switch {
	case AuthorityKey(a.key()) != a.row.Key:
		return fmt.Errorf("record names %s %q", a.Allocation.ObjectKind, a.GlobalID)
	case !generationOf(a.ObjectGeneration, a.row), !generationOf(a.AuthorityOwnerGeneration, a.row):
		return fmt.Errorf("generations %d and %d in a row of revision %d", a.ObjectGeneration, a.AuthorityOwnerGeneration, a.row.Revision)
	case a.reserved() != (a.Pending != nil):
		return fmt.Errorf("record that is %s, with pending creation %t", a.Allocation.State, a.Pending != nil)
	case a.reserved() && a.ReservationID == "":
		return errors.New("reserved record without a reservation id")
	}
	return nil
}

// findAuthority returns the authority of a key; nil when there is none.
func findAuthority(v kvstore.View, k kvstore.Key) (*authority, error) {
	r := v.Row(k)
	if r == nil {
		return nil, nil
	}
	return decodeAuthority(r)
}

// put stores a record as the authority of its object and returns it as it now is: with
// a revision of its own.
func (r *authorityRecord) put(tx *kvstore.Tx) (*authority, error) {
	r.VisibleRevision = 0
	return r.store(tx)
}

func (r *authorityRecord) store(tx *kvstore.Tx) (*authority, error) {
	next, err := tx.Next()
	if err != nil {
		return nil, err
	}
	k := AuthorityKey(r.key())
	value, err := encodeRecord(r)
	if err != nil {
		return nil, err
	}
	if _, err := tx.PutDecoded(k, value, r.place(), 0); err != nil {
		return nil, err
	}
	return &authority{*r, &kvstore.Row{Key: k, Revision: next}}, nil
}

// value is the snapshot as events have it.
func (a *authority) value() *wire.Authority {
	s := &wire.Authority{
		Key: a.key().Text(), StoreVersion: a.version(), Payload: a.Payload,
		ObjectGeneration: a.ObjectGeneration, AuthorityOwnerGeneration: a.AuthorityOwnerGeneration,
		OwnerID: a.OwnerID, OwnerLeaseGeneration: a.OwnerLeaseGeneration,
		Allocation: &a.Allocation, Phase: a.Phase, Membership: a.Membership,
	}
	if a.Pending != nil {
		s.PendingCreation = &wire.PendingCreation{
			ReservationID:           a.ReservationID,
			RequestContentReference: a.Pending.RequestContentReference,
			RequestSHA256:           a.Pending.RequestSHA256,
			RequestEncodedSize:      a.Pending.RequestEncodedSize,
		}
	}
	return s
}

// snapshot is the record as replies show it.
func (a *authority) snapshot(v kvstore.View) (*wire.Authority, error) {
	live, err := isLive(v, a.token())
	if err != nil {
		return nil, err
	}
	s := a.value()
	s.Live, s.StoreNow = &live, wire.Instant(v.Now())
	return s, nil
}

// current is what authority.read answers about an authority, nil if there is none.
func current(v kvstore.View, a *authority) (*wire.Authority, error) {
	if a == nil {
		return &wire.Authority{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	}
	s, err := a.snapshot(v)
	if err != nil {
		return nil, err
	}
	s.Kind = wire.KindSnapshot
	return s, nil
}

// ReadAuthority answers the record of an object, or missing.
//
// Reads: the authority and the lease of its owner. Errors: *kvstore.DataLostError.
func ReadAuthority(v kvstore.View, req *wire.AuthorityReadRequest) (*wire.Authority, error) {
	a, err := findAuthority(v, AuthorityKey(req.Key))
	if err != nil {
		return nil, err
	}
	return current(v, a)
}

// ListAuthorities lists the records whose keys begin with the prefix of the request
// and come after a row, in key order. It returns the key to go on after, empty at the
// end.
//
// Reads: the authorities and the leases of their owners. Errors:
// *kvstore.DataLostError.
func ListAuthorities(v kvstore.View, req *wire.AuthorityListRequest, after kvstore.Key, p Page) ([]wire.AuthorityItem, kvstore.Key, error) {
	rows := v.Scan(kvstore.NewKey(FamilyAuthority, req.Prefix), after)
	return fill(itemsOf(rows, func(r *kvstore.Row) (*wire.AuthorityItem, error) {
		a, err := decodeAuthority(r)
		if err != nil {
			return nil, err
		}
		s, err := a.snapshot(v)
		if err != nil {
			return nil, err
		}
		return &wire.AuthorityItem{Key: s.Key, Snapshot: *s}, nil
	}), p)
}
