package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	wantJSON     = "well-formed JSON"
	wantIntegral = "an integer without fraction or exponent"
	wantDecimal  = "an integer 0..18446744073709551615 as a decimal string"
	wantBase64   = "bytes in standard base64 with padding"
	wantHex      = `{"hex": "..."} with an even number of hexadecimal digits`

	// maxExact is the greatest integer up to which every integer is exact in the numbers of all JSON implementations.
	maxExact = 1<<53 - 1
)

// jsonReader reads JSON. The decoder checks syntax and UTF-8; it leaves repeated names to [plan.decode], which knows the path.
type jsonReader struct {
	dec     *jsontext.Decoder
	scratch []byte // the last text that held an escape
	loose   bool   // see lenient
}

func newJSONReader(data []byte, lenient bool) *jsonReader {
	if len(data) == 0 {
		data = []byte("{}")
	}
	return &jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)), loose: lenient}
}

// value reads the next item, which must be of the kind, as it is written.
func (r *jsonReader) value(kind jsontext.Kind, want string) (jsontext.Value, *InvalidError) {
	if err := r.expect(kind, want); err != nil {
		return nil, err
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, malformed(err)
	}
	return raw, nil
}

// expect refuses the next item unless it is of the kind.
func (r *jsonReader) expect(kind jsontext.Kind, want string) *InvalidError {
	next := r.dec.PeekKind()
	if next == kind {
		return nil
	}
	if name, ok := kindNames[next]; ok {
		return &InvalidError{Got: name, Want: want}
	}
	_, err := r.dec.ReadToken() // PeekKind keeps the reason to itself
	return malformed(err)
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "a boolean", 'f': "a boolean", '"': "text", '0': "a number", '{': "a map", '[': "an array",
	'}': "the end of the map", ']': "the end of the array",
}

func malformed(err error) *InvalidError {
	return &InvalidError{Got: strings.TrimPrefix(err.Error(), "jsontext: "), Want: wantJSON}
}

// token reads the next item, which must be of the kind and is one token.
func (r *jsonReader) token(kind jsontext.Kind, want string) *InvalidError {
	if err := r.expect(kind, want); err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return malformed(err)
	}
	return nil
}

// open begins a map or an array.
func (r *jsonReader) open(kind jsontext.Kind, want string) *InvalidError {
	if err := r.token(kind, want); err != nil {
		return err
	}
	if r.dec.StackDepth() > maxDepth {
		return &InvalidError{Got: "another level", Want: wantNested}
	}
	return nil
}

// closed tells whether the open item ends here, which the token says, and then reads that.
func (r *jsonReader) closed(end jsontext.Kind) (bool, *InvalidError) {
	if r.dec.PeekKind() != end {
		return false, nil
	}
	return true, r.token(end, "")
}

func (r *jsonReader) null() bool {
	if r.dec.PeekKind() != 'n' {
		return false
	}
	_, err := r.dec.ReadToken()
	return err == nil // a misspelt null fails again, with its reason, at the next read
}

func (r *jsonReader) openObject() *InvalidError { return r.open('{', wantMap) }

func (r *jsonReader) name() ([]byte, bool, *InvalidError) {
	if closed, err := r.closed('}'); closed || err != nil {
		return nil, false, err
	}
	name, err := r.str(wantName)
	return name, err == nil, err
}

func (r *jsonReader) openArray() (int, *InvalidError) { return 0, r.open('[', wantArray) }

func (r *jsonReader) item() (bool, *InvalidError) {
	closed, err := r.closed(']')
	return !closed && err == nil, err
}

func (r *jsonReader) isText() bool { return r.dec.PeekKind() == '"' }

func (r *jsonReader) text() ([]byte, *InvalidError) { return r.str(wantText) }

// str reads a string and undoes its escapes.
func (r *jsonReader) str(want string) ([]byte, *InvalidError) {
	raw, err := r.value('"', want)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	text, failure := jsontext.AppendUnquote(r.scratch[:0], raw)
	if failure != nil {
		return nil, malformed(failure)
	}
	r.scratch = text
	return text, nil
}

func (r *jsonReader) rid() ([]byte, *InvalidError) {
	if r.dec.PeekKind() == '{' {
		return r.hexRID()
	}
	text, err := r.str(wantRID)
	if err == nil && !RID(text).isText() {
		return nil, &InvalidError{Got: string(text), Want: wantRID}
	}
	return text, err
}

// hexRID reads a map whose only field is hex.
func (r *jsonReader) hexRID() ([]byte, *InvalidError) {
	if err := r.openObject(); err != nil {
		return nil, err
	}
	name, ok, err := r.name()
	if err != nil {
		return nil, err
	}
	if !ok || string(name) != "hex" {
		return nil, &InvalidError{Got: string(name), Want: wantHex}
	}
	digits, err := r.str(wantHex)
	if err != nil {
		return nil, err
	}
	rid, failure := hex.DecodeString(string(digits))
	if failure != nil {
		return nil, &InvalidError{Got: string(digits), Want: wantHex}
	}
	name, ok, err = r.name()
	if ok {
		return nil, &InvalidError{Got: string(name), Want: wantHex}
	}
	return rid, err
}

func (r *jsonReader) bytes() ([]byte, *InvalidError) {
	text, err := r.str(wantBase64)
	if err != nil {
		return nil, err
	}
	// The base64 package skips line ends.
	if bytes.ContainsAny(text, "\r\n") {
		return nil, &InvalidError{Got: string(text), Want: wantBase64}
	}
	b, failure := base64.StdEncoding.Strict().AppendDecode([]byte{}, text)
	if failure != nil {
		return nil, &InvalidError{Got: string(text), Want: wantBase64}
	}
	return b, nil
}

func (r *jsonReader) u64() (uint64, *InvalidError) {
	if r.dec.PeekKind() == '0' {
		return r.uint(maxExact)
	}
	text, err := r.str(wantDecimal)
	if err != nil {
		return 0, err
	}
	n, failure := strconv.ParseUint(string(text), 10, 64)
	if failure != nil || len(text) > 1 && text[0] == '0' {
		return 0, &InvalidError{Got: string(text), Want: wantDecimal}
	}
	return n, nil
}

func (r *jsonReader) uint(max uint64) (uint64, *InvalidError) {
	literal, err := r.literal(wantUint(max))
	if err != nil {
		return 0, err
	}
	n, failure := strconv.ParseUint(literal, 10, 64)
	if failure != nil || n > max {
		return 0, &InvalidError{Got: literal, Want: wantUint(max)}
	}
	return n, nil
}

func (r *jsonReader) int() (int64, *InvalidError) {
	literal, err := r.literal(wantInt)
	if err != nil {
		return 0, err
	}
	n, failure := strconv.ParseInt(literal, 10, 64)
	if failure != nil {
		return 0, &InvalidError{Got: literal, Want: wantInt}
	}
	return n, nil
}

// literal reads a number that is written as an integer.
func (r *jsonReader) literal(want string) (string, *InvalidError) {
	raw, err := r.value('0', want)
	if err != nil {
		return "", err
	}
	literal := string(raw)
	if strings.ContainsAny(literal, ".eE") {
		return "", &InvalidError{Got: literal, Want: wantIntegral}
	}
	return literal, nil
}

func (r *jsonReader) bool() (bool, *InvalidError) {
	if r.dec.PeekKind() == 't' {
		return true, r.token('t', wantBool)
	}
	return false, r.token('f', wantBool)
}

func (r *jsonReader) lenient() bool { return r.loose }

func (r *jsonReader) skip() *InvalidError {
	if err := r.dec.SkipValue(); err != nil {
		return malformed(err)
	}
	return nil
}

func (r *jsonReader) end() *InvalidError {
	switch _, err := r.dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return &InvalidError{Got: "another value", Want: wantEnd}
	default:
		return malformed(err)
	}
}
