// Package wire is the vocabulary of the protocol: the type of every request, reply and event, and the codec that turns them into
// CBOR or JSON and back.
//
// # Model
//
// A message is one map. Its Go type is a struct whose json tags name the fields; the codec, and nothing else, decides how each
// Go type is written:
//
//	Go kind               protocol type       CBOR                  JSON
//	string                text                text string           string
//	string with Values    enumeration         text string           string
//	RID                   routing id          text or byte string   string or {"hex": "00ff"}
//	Bytes ([]byte)        bytes               byte string           standard base64
//	uint64                u64, generation,    unsigned integer      decimal string (a number up to
//	                      revision                                  2^53-1 is read too)
//	uint8, 16, 32         count, weight       unsigned integer      number
//	int64                 instant, duration   integer               number
//	bool                  bool                false, true           false, true
//	struct, slice, map    map, list, map      map, array, map       object, array, object
//
// A field is required unless it is a pointer, has the option omitzero, or is marked as stamped:
//
//	Name  string   `json:"name"`                 required; a nil slice or map is written as empty, never as null
//	Token string   `json:"token,omitzero"`       optional: the zero value is absent, and refused when it is sent
//	Limit *uint32  `json:"limit,omitzero"`       optional: nil is absent, and zero may be sent
//	Use   uint32   `json:"use" wire:"stamped"`   written by the service: always there in its output, optional in its input
//
// Bytes, slices and maps with omitzero may be sent empty, and are then not nil; false may be sent as well. An embedded struct
// without a tag gives its fields to the struct around it. Absent fields are left out of output; null is read as absent.
//
// An [ObjectKey] is written as a map and read from its text form as well.
//
// A request or reply that has several forms is one struct: Kind says which, and the fields of the other forms are absent. The
// codec does not check that they are; nor does it check ranges, which are the domain's.
//
// # Guarantees
//
//   - Reading is strict. Unknown and repeated names, missing required fields, trailing bytes, nesting deeper than 16,
//     indefinite lengths, tags, floats, text that is not UTF-8, and any value of another type or beyond the Go type's range are
//     refused with an [InvalidError] that names the field, and nothing is guessed.
//   - CBOR output is core deterministic (RFC 8949, 4.2.1), JSON output compact; equal values give equal bytes.
//   - What was read can be written, and reads back as the same value.
//   - Nothing read shares memory with the input, and reading allocates at most in proportion to the input.
//
// # Concurrency
//
// Everything here may be used from any goroutine.
package wire
