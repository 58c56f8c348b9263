package wire

import "slices"

// Kind says which form a reply has, where a reply has several. Each reply names the ones that it may have.
type Kind string

// The values of [Kind].
const (
	KindApplied             Kind = "applied"             // the opaque write was carried out
	KindClaimed             Kind = "claimed"             // the lease is the caller's
	KindConflict            Kind = "conflict"            // something else holds
	KindExpired             Kind = "expired"             // the cursor's snapshot is gone, or the cursor belongs to another scan
	KindFound               Kind = "found"               // here it is
	KindGenerationExhausted Kind = "generationExhausted" // no revision is left for a new generation
	KindMissing             Kind = "missing"             // there is none
	KindPage                Kind = "page"                // a page of a scan
	KindReleased            Kind = "released"            // the lease is gone
	KindRenewed             Kind = "renewed"             // the lease lives on
	KindStale               Kind = "stale"               // the token is not live
)

// Values implements [Enum].
func (Kind) Values() []string {
	return []string{
		string(KindApplied),
		string(KindClaimed),
		string(KindConflict),
		string(KindExpired),
		string(KindFound),
		string(KindGenerationExhausted),
		string(KindMissing),
		string(KindPage),
		string(KindReleased),
		string(KindRenewed),
		string(KindStale),
	}
}

// Valid tells whether k is a value of the protocol.
func (k Kind) Valid() bool { return slices.Contains(k.Values(), string(k)) }
