package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Encoding is one of the two ways in which a message is written.
type Encoding uint8

// The encodings of the protocol.
const (
	CBOR Encoding = iota // RFC 8949, core deterministic on output
	JSON                 // RFC 8259, compact on output
)

const (
	typeCBOR = "application/cbor"
	typeJSON = "application/json"
)

// maxDepth is how deep maps and arrays may nest, the payload's own map included.
const maxDepth = 16

// ContentType returns the value of the header [HeaderContentType] for e.
func (e Encoding) ContentType() string {
	if e == JSON {
		return typeJSON
	}
	return typeCBOR
}

// DetectEncoding tells how a payload is encoded: as its Content-Type says or, without one, JSON when the payload is empty or
// its first non-blank byte is '{', and CBOR otherwise. Parameters of the content type are ignored. The only error is an
// [InvalidError] for a content type that the protocol does not have.
func DetectEncoding(contentType string, payload []byte) (Encoding, error) {
	media, _, _ := strings.Cut(contentType, ";")
	switch media = strings.TrimSpace(media); {
	case strings.EqualFold(media, typeCBOR):
		return CBOR, nil
	case strings.EqualFold(media, typeJSON):
		return JSON, nil
	case contentType != "":
		return 0, &InvalidError{Field: HeaderContentType, Got: contentType, Want: typeCBOR + " or " + typeJSON}
	}
	for _, c := range payload {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return JSON, nil
		}
		return CBOR, nil
	}
	if len(payload) == 0 {
		return JSON, nil
	}
	return CBOR, nil
}

// Unmarshal reads data, which holds one message, into the struct that v points to. The struct must be zero: fields that are
// absent are left as they are. An empty payload is the empty map. Any error is an [*InvalidError]; v is then half filled.
func Unmarshal(enc Encoding, data []byte, v any) error { return unmarshal(enc, data, v, false) }

// UnmarshalLenient is [Unmarshal] for what the service has written, which may be of a later version: it passes over fields that it
// does not know, and takes any text for the value of an enumeration, of which Valid tells whether this version has it.
func UnmarshalLenient(enc Encoding, data []byte, v any) error { return unmarshal(enc, data, v, true) }

func unmarshal(enc Encoding, data []byte, v any, lenient bool) error {
	ptr := reflect.ValueOf(v)
	if ptr.Kind() != reflect.Pointer || ptr.IsNil() || ptr.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("wire: unmarshal into %T, want a pointer to a struct", v))
	}
	var r reader
	if enc == JSON {
		r = newJSONReader(data, lenient)
	} else {
		r = newCBORReader(data, lenient)
	}
	s := planOf(ptr.Type().Elem())
	err := s.decode(r, ptr.Elem())
	if err == nil {
		err = r.end()
	}
	if err == nil {
		return nil
	}
	if err.Field == "" {
		err.Field = PayloadField
	}
	return err
}

// scratch holds buffers in which messages are written, so that the message itself is one allocation of exactly its size.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the greatest buffer that is kept, in bytes: a rare page of megabytes should not stay in memory.
const maxScratch = 1 << 16

// Marshal writes the message v, a struct or a pointer to one. The only errors are text and map keys that are not valid UTF-8.
func Marshal(enc Encoding, v any) ([]byte, error) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		panic(fmt.Sprintf("wire: marshal %T, want a struct or a pointer to one", v))
	}
	buffer := scratch.Get().(*[]byte)
	defer scratch.Put(buffer)
	write := (*plan).appendCBOR
	if enc == JSON {
		write = (*plan).appendJSON
	}
	dst, err := write(planOf(value.Type()), (*buffer)[:0], value)
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", value.Type().Name(), err)
	}
	if cap(dst) <= maxScratch {
		*buffer = dst
	}
	return append(make([]byte, 0, len(dst)), dst...), nil
}
