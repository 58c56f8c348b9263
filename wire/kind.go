package wire

import "slices"

// Kind says which form a reply has, where a reply has several. Each reply names the ones that it may have.
type Kind string

// The values of [Kind].
const (
	KindAborted                    Kind = "aborted"                    // the reservation is gone, or the aggregate is undone
	KindAlreadyAborted             Kind = "alreadyAborted"             // it was aborted before
	KindAlreadyCommitted           Kind = "alreadyCommitted"           // it was committed before
	KindAlreadyCompleted           Kind = "alreadyCompleted"           // the operation has an outcome
	KindAlreadyExists              Kind = "alreadyExists"              // the object is there
	KindAlreadyPrepared            Kind = "alreadyPrepared"            // the aggregate was prepared before
	KindApplied                    Kind = "applied"                    // the opaque write was carried out
	KindClaimed                    Kind = "claimed"                    // the lease is the caller's
	KindCommitted                  Kind = "committed"                  // the object is there, or the participants are changed, from now on
	KindConflict                   Kind = "conflict"                   // something else holds
	KindCreated                    Kind = "created"                    // the object is there from now on
	KindDeleted                    Kind = "deleted"                    // the record is gone
	KindExpired                    Kind = "expired"                    // the cursor's snapshot is gone, or the cursor belongs to another scan
	KindFailed                     Kind = "failed"                     // the creation failed, and the reservation is gone
	KindFound                      Kind = "found"                      // here it is
	KindGenerationExhausted        Kind = "generationExhausted"        // no revision is left for a new generation
	KindMissing                    Kind = "missing"                    // there is none
	KindNoTarget                   Kind = "noTarget"                   // no node qualifies, room aside
	KindNone                       Kind = "none"                       // no node was selected
	KindPage                       Kind = "page"                       // a page of a scan or list
	KindPlacementCapacityExhausted Kind = "placementCapacityExhausted" // there is no room
	KindPrepared                   Kind = "prepared"                   // the participants are locked, and the room is reserved
	KindRejected                   Kind = "rejected"                   // the creation was rejected, and the reservation is gone
	KindReleased                   Kind = "released"                   // the lease or the reservation is gone
	KindRenewed                    Kind = "renewed"                    // the lease lives on
	KindReserved                   Kind = "reserved"                   // the object is the caller's to create
	KindScanExpired                Kind = "scanExpired"                // the cursor's snapshot is gone, or the cursor belongs to another list
	KindSelected                   Kind = "selected"                   // a node was selected
	KindSnapshot                   Kind = "snapshot"                   // here is the record
	KindStale                      Kind = "stale"                      // the token is not live, or what the request is about has moved on
	KindStaged                     Kind = "staged"                     // the participants are stored
	KindStored                     Kind = "stored"                     // the record was changed
	KindTypeMismatch               Kind = "typeMismatch"               // the object is there and of another kind or type
	KindUnavailable                Kind = "unavailable"                // the object of an owner that has ended cannot be replaced yet
)

// Values implements [Enum].
func (Kind) Values() []string {
	return []string{
		string(KindAborted),
		string(KindAlreadyAborted),
		string(KindAlreadyCommitted),
		string(KindAlreadyCompleted),
		string(KindAlreadyExists),
		string(KindAlreadyPrepared),
		string(KindApplied),
		string(KindClaimed),
		string(KindCommitted),
		string(KindConflict),
		string(KindCreated),
		string(KindDeleted),
		string(KindExpired),
		string(KindFailed),
		string(KindFound),
		string(KindGenerationExhausted),
		string(KindMissing),
		string(KindNoTarget),
		string(KindNone),
		string(KindPage),
		string(KindPlacementCapacityExhausted),
		string(KindPrepared),
		string(KindRejected),
		string(KindReleased),
		string(KindRenewed),
		string(KindReserved),
		string(KindScanExpired),
		string(KindSelected),
		string(KindSnapshot),
		string(KindStale),
		string(KindStaged),
		string(KindStored),
		string(KindTypeMismatch),
		string(KindUnavailable),
	}
}

// Valid tells whether k is a value of the protocol.
func (k Kind) Valid() bool { return slices.Contains(k.Values(), string(k)) }
