package kvstore

import "strings"

const (
	// MaxKeyBytes bounds a key. The longest is that of a peer that is named by an
	// endpoint of 1,024 bytes, in a mesh with a name of 255.
	MaxKeyBytes = 1312
	// Separator stands between the segments of a key.
	Separator = "\x00"
)

// Key names a row: 1..MaxKeyBytes opaque bytes, compared as bytes. By
// convention it is a list of segments joined by [Separator], the first of which
// is the family of the row. Only the last segment may itself contain separators.
type Key string

// NewKey joins segments.
func NewKey(segments ...string) Key { return Key(strings.Join(segments, Separator)) }

// Prefix joins segments and ends with a separator, so that it is a prefix of
// exactly the keys that begin with these segments and have more.
func Prefix(segments ...string) Key { return NewKey(segments...) + Separator }

// Split cuts the key into at most n segments; the last one holds the rest.
func (k Key) Split(n int) []string { return strings.SplitN(string(k), Separator, n) }

// HasPrefix tells whether the key begins with the bytes of prefix.
func (k Key) HasPrefix(prefix Key) bool { return strings.HasPrefix(string(k), string(prefix)) }
