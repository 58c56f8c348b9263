package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
)

// Major types of CBOR items (RFC 8949, 3.1).
const (
	majorUint byte = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

// Initial bytes of the simple values in use (RFC 8949, 3.3), and the mark of an indefinite length.
const (
	simpleFalse    = majorSimple<<5 | 20
	simpleTrue     = majorSimple<<5 | 21
	simpleNull     = majorSimple<<5 | 22
	infoUndefined  = 23
	infoHalf       = 25
	infoDouble     = 27
	infoIndefinite = 31
)

// emptyMap is what an empty payload stands for.
const emptyMap = majorMap << 5

// cborReader reads the part of CBOR that the protocol uses. The CBOR library at hand decodes whole values only and cannot say
// which field it stumbled over; tests check this reader and [appendHead] against it.
type cborReader struct {
	data  []byte
	pos   int           // next byte to read
	left  [maxDepth]int // elements or pairs not yet read of each open item
	depth int           // number of open items
	loose bool          // see lenient
}

func newCBORReader(data []byte, lenient bool) *cborReader {
	if len(data) == 0 {
		data = []byte{emptyMap}
	}
	return &cborReader{data: data, loose: lenient}
}

// head reads the head of an item of the major type, and refuses any other item as not what is wanted.
func (r *cborReader) head(major byte, want string) (uint64, *InvalidError) {
	if r.pos < len(r.data) {
		if b := r.data[r.pos]; b>>5 == major && b&31 < 24 { // by far the most frequent case
			r.pos++
			return uint64(b & 31), nil
		}
	}
	n, size := r.peek(major)
	if size == 0 {
		return 0, &InvalidError{Got: r.found(), Want: want}
	}
	r.pos += size
	return n, nil
}

// peek returns the argument and the size of the next item's head; size 0 when the item is of another major type, has no definite
// length, or is cut off.
func (r *cborReader) peek(major byte) (n uint64, size int) {
	rest := r.data[r.pos:]
	if len(rest) == 0 || rest[0]>>5 != major {
		return 0, 0
	}
	info := rest[0] & 31
	if info < 24 {
		return uint64(info), 1
	}
	size = 1 << (info & 3)
	if info > 27 || len(rest) <= size {
		return 0, 0
	}
	switch arg := rest[1:]; size {
	case 1:
		n = uint64(arg[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(arg))
	case 4:
		n = uint64(binary.BigEndian.Uint32(arg))
	default:
		n = binary.BigEndian.Uint64(arg)
	}
	return n, 1 + size
}

// found names the next item, for errors.
func (r *cborReader) found() string {
	if r.pos >= len(r.data) {
		return "the end of the payload"
	}
	major, info := r.data[r.pos]>>5, r.data[r.pos]&31
	if info == infoIndefinite {
		return "an item of indefinite length"
	}
	if _, size := r.peek(major); size == 0 {
		return "a malformed item"
	}
	switch major {
	case majorUint:
		return "a non-negative integer"
	case majorNegative:
		return "a negative integer"
	case majorBytes:
		return "bytes"
	case majorText:
		return "text"
	case majorArray:
		return "an array"
	case majorMap:
		return "a map"
	case majorTag:
		return "a tag"
	}
	switch b := r.data[r.pos]; {
	case b == simpleFalse || b == simpleTrue:
		return "a boolean"
	case b == simpleNull:
		return "null"
	case info == infoUndefined:
		return "undefined"
	case info >= infoHalf && info <= infoDouble:
		return "a floating-point number"
	}
	return "a simple value"
}

// str reads the content of a text or byte string.
func (r *cborReader) str(major byte, want string) ([]byte, *InvalidError) {
	n, err := r.head(major, want)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.data)-r.pos) {
		return nil, cutOff(want)
	}
	start := r.pos
	r.pos += int(n)
	return r.data[start:r.pos], nil
}

func cutOff(want string) *InvalidError {
	return &InvalidError{Got: "a length beyond the end of the payload", Want: want}
}

func (r *cborReader) null() bool {
	if r.pos < len(r.data) && r.data[r.pos] == simpleNull {
		r.pos++
		return true
	}
	return false
}

// open begins a map or an array. Every element takes a byte at least, so a claim beyond the payload is refused at once.
func (r *cborReader) open(major byte, want string) (int, *InvalidError) {
	n, err := r.head(major, want)
	switch {
	case err != nil:
		return 0, err
	case n > uint64(len(r.data)-r.pos):
		return 0, cutOff(want)
	case r.depth == maxDepth:
		return 0, &InvalidError{Got: "another level", Want: wantNested}
	}
	r.left[r.depth] = int(n)
	r.depth++
	return int(n), nil
}

// more tells whether the open item has another element, and closes it when it has none.
func (r *cborReader) more() bool {
	if r.left[r.depth-1] == 0 {
		r.depth--
		return false
	}
	r.left[r.depth-1]--
	return true
}

func (r *cborReader) openObject() *InvalidError {
	_, err := r.open(majorMap, wantMap)
	return err
}

func (r *cborReader) name() ([]byte, bool, *InvalidError) {
	if !r.more() {
		return nil, false, nil
	}
	name, err := r.utf8(wantName)
	return name, err == nil, err
}

func (r *cborReader) openArray() (int, *InvalidError) { return r.open(majorArray, wantArray) }

func (r *cborReader) item() (bool, *InvalidError) { return r.more(), nil }

func (r *cborReader) isText() bool { return r.pos < len(r.data) && r.data[r.pos]>>5 == majorText }

func (r *cborReader) text() ([]byte, *InvalidError) { return r.utf8(wantText) }

func (r *cborReader) utf8(want string) ([]byte, *InvalidError) {
	text, err := r.str(majorText, want)
	if err == nil && !utf8.Valid(text) {
		return nil, &InvalidError{Got: string(text), Want: wantUTF8}
	}
	return text, err
}

func (r *cborReader) rid() ([]byte, *InvalidError) {
	if r.pos < len(r.data) && r.data[r.pos]>>5 == majorBytes {
		return r.str(majorBytes, wantRID)
	}
	text, err := r.str(majorText, wantRID)
	if err == nil && !RID(text).isText() {
		return nil, &InvalidError{Got: string(text), Want: wantRID}
	}
	return text, err
}

func (r *cborReader) bytes() ([]byte, *InvalidError) {
	b, err := r.str(majorBytes, wantBytes)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(b)), b...), nil
}

func (r *cborReader) u64() (uint64, *InvalidError) { return r.head(majorUint, wantU64) }

func (r *cborReader) uint(max uint64) (uint64, *InvalidError) {
	n, err := r.head(majorUint, "")
	switch {
	case err != nil:
		err.Want = wantUint(max)
	case n > max:
		err = &InvalidError{Got: strconv.FormatUint(n, 10), Want: wantUint(max)}
	}
	return n, err
}

func (r *cborReader) int() (int64, *InvalidError) {
	major := majorUint
	if r.pos < len(r.data) && r.data[r.pos]>>5 == majorNegative {
		major = majorNegative
	}
	n, err := r.head(major, wantInt)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64 {
		return 0, &InvalidError{Got: "an integer beyond 64 bits", Want: wantInt}
	}
	if major == majorNegative {
		return -1 - int64(n), nil
	}
	return int64(n), nil
}

func (r *cborReader) bool() (bool, *InvalidError) {
	if r.pos < len(r.data) {
		switch r.data[r.pos] {
		case simpleTrue, simpleFalse:
			r.pos++
			return r.data[r.pos-1] == simpleTrue, nil
		}
	}
	return false, &InvalidError{Got: r.found(), Want: wantBool}
}

func (r *cborReader) lenient() bool { return r.loose }

// skip counts the items that it has to pass over, so that their nesting costs nothing.
func (r *cborReader) skip() *InvalidError {
	for items := 1; items > 0; items-- {
		if r.pos == len(r.data) {
			return cutOff("a value")
		}
		major := r.data[r.pos] >> 5
		n, size := r.peek(major)
		r.pos += size
		rest := uint64(len(r.data) - r.pos)
		switch {
		case size == 0:
			return &InvalidError{Got: r.found(), Want: "a value"}
		case n > rest && major >= majorBytes && major <= majorMap:
			return cutOff("a value")
		case major == majorBytes, major == majorText:
			r.pos += int(n)
		case major == majorArray:
			items += int(n)
		case major == majorMap:
			items += 2 * int(n)
		case major == majorTag:
			items++
		}
	}
	return nil
}

func (r *cborReader) end() *InvalidError {
	if r.pos < len(r.data) {
		return &InvalidError{Got: strconv.Itoa(len(r.data)-r.pos) + " more bytes", Want: wantEnd}
	}
	return nil
}
