package wire

import "slices"

// Intent says what the writer of a row takes it for.
type Intent string

// The values of [Intent].
const (
	IntentNewClaim Intent = "newClaim" // nobody who is live has the row
	IntentRenew    Intent = "renew"    // the row is the writer's already
	IntentTakeover Intent = "takeover" // the row becomes the writer's, whoever has it
)

// Values implements [Enum].
func (Intent) Values() []string {
	return []string{
		string(IntentNewClaim),
		string(IntentRenew),
		string(IntentTakeover),
	}
}

// Valid tells whether i is a value of the protocol.
func (i Intent) Valid() bool { return slices.Contains(i.Values(), string(i)) }

// UpdateStatus says what became of a request to store or remove a row.
type UpdateStatus string

// The values of [UpdateStatus].
const (
	StatusStored           UpdateStatus = "stored"           // it was carried out, or had been before
	StatusIgnoredStale     UpdateStatus = "ignoredStale"     // the row has moved on
	StatusRejectedConflict UpdateStatus = "rejectedConflict" // the writer may not have the row
)

// Values implements [Enum].
func (UpdateStatus) Values() []string {
	return []string{
		string(StatusStored),
		string(StatusIgnoredStale),
		string(StatusRejectedConflict),
	}
}

// Valid tells whether s is a value of the protocol.
func (s UpdateStatus) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// UpdateReply is the reply of every operation that stores a descriptor or a location row.
type UpdateReply struct {
	Status     UpdateStatus `json:"status"`     // what became of it
	Generation Generation   `json:"generation"` // of the row if stored, else 0
	UpdatedAt  Instant      `json:"updatedAt"`  // of the row if stored, else the store's time
}

// RemoveReply is the reply of every operation that removes a descriptor or a location row.
type RemoveReply struct {
	Status UpdateStatus `json:"status"` // stored or ignoredStale
}
