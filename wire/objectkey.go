package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ObjectKey names an object by its kind and its id. The three kinds of spots share one identity. A request may give the text form
// instead of the map; for a spot it then means a user spot, where the kind matters at all.
type ObjectKey struct {
	Kind     ObjectKind `json:"kind"`     // actor, userSpot or instanceSpot
	GlobalID string     `json:"globalId"` // identifier, 1..255 bytes
}

// The text form of a key is
//
//	zla1:        prefix and version
//	a: or s:     actor, or spot of any kind
//	7:           number of bytes of the id, in decimal
//	user%3A42    the id: A-Z a-z 0-9 - . _ ~ as they are, every other byte as % and two upper-case hexadecimal digits
const (
	// KeyTextPrefix begins the text form of every key.
	KeyTextPrefix = "zla1:"
	// MaxKeyTextBytes bounds the text form of a key.
	MaxKeyTextBytes = len(KeyTextPrefix) + len("a:255:") + 3*maxGlobalIDBytes

	maxGlobalIDBytes = 255
	wantKeyText      = "zla1:a:<bytes>:<id> or zla1:s:<bytes>:<id>, the id with every byte outside A-Z a-z 0-9 - . _ ~ as %XX"
)

// IsSpot tells whether the key names a spot.
func (k ObjectKey) IsSpot() bool { return k.Kind != ObjectActor }

// Text returns the text form. Keys that name the same object have the same.
func (k ObjectKey) Text() string {
	b := make([]byte, 0, len(KeyTextPrefix)+len("a:255:")+len(k.GlobalID)+8)
	b = append(b, KeyTextPrefix...)
	if k.IsSpot() {
		b = append(b, "s:"...)
	} else {
		b = append(b, "a:"...)
	}
	b = append(strconv.AppendInt(b, int64(len(k.GlobalID)), 10), ':')
	for i := range len(k.GlobalID) {
		if c := k.GlobalID[i]; plainInKey(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

func plainInKey(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// ParseObjectKey reads a text form; a spot becomes a user spot. There is one text form for each key, and every other text is an
// [*InvalidError] without a field.
func ParseObjectKey(text string) (ObjectKey, error) {
	k, err := readObjectKey(text)
	if err != nil {
		return k, err
	}
	return k, nil
}

func readObjectKey(text string) (ObjectKey, *InvalidError) {
	k, ok := parseObjectKey(text)
	if !ok || k.Text() != text { // one spelling alone: no needless escapes, no lower-case digits, no leading zeros
		return ObjectKey{}, &InvalidError{Got: text, Want: wantKeyText}
	}
	return k, nil
}

func parseObjectKey(text string) (k ObjectKey, ok bool) {
	rest, ok := strings.CutPrefix(text, KeyTextPrefix)
	if !ok || len(text) > MaxKeyTextBytes {
		return k, false
	}
	parts := strings.SplitN(rest, ":", 3)
	if len(parts) != 3 {
		return k, false
	}
	switch parts[0] {
	case "a":
		k.Kind = ObjectActor
	case "s":
		k.Kind = ObjectUserSpot
	default:
		return k, false
	}
	k.GlobalID, ok = unescapeID(parts[2])
	n := len(k.GlobalID)
	return k, ok && n >= 1 && n <= maxGlobalIDBytes && parts[1] == strconv.Itoa(n) &&
		utf8.ValidString(k.GlobalID) && strings.IndexByte(k.GlobalID, 0) < 0
}

func unescapeID(text string) (string, bool) {
	if !strings.Contains(text, "%") {
		return text, true
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b = append(b, text[i])
			continue
		}
		if len(text)-i < 3 {
			return "", false
		}
		c, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b = append(b, byte(c))
		i += 2
	}
	return string(b), true
}

// fromText implements textual.
func (k *ObjectKey) fromText(text string) *InvalidError {
	parsed, err := readObjectKey(text)
	*k = parsed
	return err
}
