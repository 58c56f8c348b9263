package wire

import "unicode/utf8"

// RID is a routing id: the raw bytes, 1..255 of any value, in a Go string so that RIDs compare with == and serve as map keys.
// Two RIDs are equal when their bytes are, whichever form they were sent in.
type RID string

// U64 is an unsigned integer of 64 bits, 0..2^64-1.
type U64 uint64

// Generation numbers the incarnations of a row's owner or object: 1..2^63-1, or 0 where the protocol means "none". It is the
// revision of the commit in which the incarnation began.
type Generation uint64

// Revision is the store-wide number of a write, 1..2^63-1, or 0 where the protocol means "none".
type Revision uint64

// Instant is a point in time: milliseconds since the Unix epoch, UTC.
type Instant int64

// Millis is a duration in milliseconds.
type Millis int64

// Bytes is a value that is opaque to the service. An optional Bytes is absent when nil and may be empty when it is not.
type Bytes []byte

// Version is the opaque version of a stored row, compared for equality alone.
type Version string

// Enum is implemented by every enumeration: a string type of which only some values are allowed. The codec refuses the others.
type Enum interface {
	// Values returns the allowed values, in the order in which an error lists them. It must not depend on the receiver.
	Values() []string
}

// isText tells whether the protocol writes the id as text: valid UTF-8 without control characters (U+0000-001F, U+007F-009F).
func (r RID) isText() bool {
	for i := 0; i < len(r); {
		c := r[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return false
			}
			i++
			continue
		}
		char, size := utf8.DecodeRuneInString(string(r[i:]))
		if char == utf8.RuneError && size == 1 || char <= 0x9f {
			return false
		}
		i += size
	}
	return true
}
