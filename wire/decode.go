package wire

import (
	"fmt"
	"reflect"
	"slices"
)

// reader reads the items of a message one after another. Slices that it returns are valid until the next call. Its errors have
// no Field: [plan.decode] adds the path on the way up.
type reader interface {
	// null reads a null if that is what comes next.
	null() bool
	// openObject begins a map. name reads the next name, and ends the map when there is none.
	openObject() *InvalidError
	name() (name []byte, ok bool, err *InvalidError)
	// openArray begins an array and tells how many elements it claims to have, 0 if it does not. item tells whether there is
	// another element, and ends the array when there is none.
	openArray() (claimed int, err *InvalidError)
	item() (ok bool, err *InvalidError)

	isText() bool                            // the next item is text
	text() ([]byte, *InvalidError)           // valid UTF-8
	rid() ([]byte, *InvalidError)            // either form
	bytes() ([]byte, *InvalidError)          // never nil, owned by the caller
	u64() (uint64, *InvalidError)            // 64 bits, in JSON a decimal string
	uint(max uint64) (uint64, *InvalidError) // 0..max, in JSON a number
	int() (int64, *InvalidError)             // 64 bits
	bool() (bool, *InvalidError)
	lenient() bool       // what is unknown may be there
	skip() *InvalidError // passes over the next item, whatever it is
	// end tells whether the message ends here.
	end() *InvalidError
}

// What readers want, for their errors.
const (
	wantMap    = "a map"
	wantName   = "text as the name of a field"
	wantArray  = "an array"
	wantText   = "text"
	wantUTF8   = "text in valid UTF-8"
	wantRID    = "a routing id: text without control characters, or bytes"
	wantBytes  = "bytes"
	wantU64    = "an integer 0..18446744073709551615"
	wantInt    = "an integer"
	wantBool   = "true or false"
	wantEnd    = "nothing after the map"
	wantNested = "maps and arrays nested 16 deep at most"
)

func wantUint(max uint64) string { return fmt.Sprintf("an integer 0..%d", max) }

// firstElements is how many elements of an array are allotted on the strength of its claim alone.
const firstElements = 16

// decode reads one value of p's type into v.
func (p *plan) decode(r reader, v reflect.Value) (err *InvalidError) {
	var text []byte
	var n uint64
	switch p.shape {
	case shapeText:
		if text, err = r.text(); err == nil {
			v.SetString(string(text))
		}
	case shapeEnum:
		return p.decodeEnum(r, v)
	case shapeRID:
		if text, err = r.rid(); err == nil {
			v.SetString(string(text))
		}
	case shapeBytes:
		if text, err = r.bytes(); err == nil {
			v.SetBytes(text)
		}
	case shapeU64:
		if n, err = r.u64(); err == nil {
			v.SetUint(n)
		}
	case shapeUint:
		if n, err = r.uint(p.max); err == nil {
			v.SetUint(n)
		}
	case shapeInt:
		var i int64
		if i, err = r.int(); err == nil {
			v.SetInt(i)
		}
	case shapeBool:
		var b bool
		if b, err = r.bool(); err == nil {
			v.SetBool(b)
		}
	case shapeArray:
		return p.decodeArray(r, v)
	case shapeMap:
		return p.decodeMap(r, v)
	case shapeObject:
		return p.decodeObject(r, v)
	}
	return err
}

func (p *plan) decodeEnum(r reader, v reflect.Value) *InvalidError {
	text, err := r.text()
	if err != nil {
		return err
	}
	for _, value := range p.values {
		if value == string(text) {
			v.SetString(value) // the constant, which costs no allocation
			return nil
		}
	}
	if r.lenient() {
		v.SetString(string(text))
		return nil
	}
	return &InvalidError{Got: string(text), Want: p.want()}
}

func (p *plan) decodeArray(r reader, v reflect.Value) *InvalidError {
	claimed, err := r.openArray()
	if err != nil {
		return err
	}
	v.Set(p.empty)
	v.Grow(min(claimed, firstElements))
	for i := 0; ; i++ {
		ok, err := r.item()
		if err != nil || !ok {
			return err
		}
		if i == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		if err := p.elem.decode(r, v.Index(i)); err != nil {
			return err.within(indexStep(i))
		}
	}
}

func (p *plan) decodeMap(r reader, v reflect.Value) *InvalidError {
	if err := r.openObject(); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(p.typ))
	key, elem := reflect.New(p.typ.Key()).Elem(), reflect.New(p.elem.typ).Elem()
	for {
		name, ok, err := r.name()
		if err != nil || !ok {
			return err
		}
		key.SetString(string(name))
		if v.MapIndex(key).IsValid() {
			return repeated(key.String())
		}
		elem.SetZero()
		if err := p.elem.decode(r, elem); err != nil {
			return err.within(nameStep(key.String()))
		}
		v.SetMapIndex(key, elem)
	}
}

func (p *plan) decodeObject(r reader, v reflect.Value) *InvalidError {
	if p.textual && r.isText() {
		text, err := r.text()
		if err != nil {
			return err
		}
		return v.Addr().Interface().(textual).fromText(string(text))
	}
	if err := r.openObject(); err != nil {
		if err.Want == wantMap {
			err.Want = p.want()
		}
		return err
	}
	var seen, present uint64
	guess := 0
	if len(p.ordered) > 0 {
		guess = p.ordered[0]
	}
	for {
		name, ok, err := r.name()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		i, unknown := p.find(name, guess)
		if unknown != nil {
			if !r.lenient() {
				return unknown
			}
			if err := r.skip(); err != nil {
				return err
			}
			continue
		}
		f := &p.fields[i]
		if seen&(1<<i) != 0 {
			return repeated(f.name)
		}
		seen |= 1 << i
		guess = f.next
		if r.null() {
			continue
		}
		present |= 1 << i
		if err := f.decodeField(r, v); err != nil {
			return err.within(f.name)
		}
	}
	return p.missing(p.required &^ present)
}

// find returns the field of a name, which is likely the guessed one.
func (p *plan) find(name []byte, guess int) (int, *InvalidError) {
	if guess < len(p.fields) && p.fields[guess].name == string(name) {
		return guess, nil
	}
	if i, ok := p.byName[string(name)]; ok {
		return i, nil
	}
	e := &InvalidError{Got: "a field of this name", Want: "only fields that the protocol names"}
	return 0, e.within(nameStep(string(name)))
}

// missing refuses an object that lacks the fields of a set, unless that is empty.
func (p *plan) missing(set uint64) *InvalidError {
	for i := range p.fields {
		if set&(1<<i) != 0 {
			return &InvalidError{Field: p.fields[i].name, Want: p.fields[i].want()}
		}
	}
	return nil
}

// decodeField reads the value of f into its place in the object v.
func (f *field) decodeField(r reader, v reflect.Value) *InvalidError {
	v = v.FieldByIndex(f.index)
	if f.pointer {
		target := reflect.New(f.typ)
		v.Set(target)
		return f.decode(r, target.Elem())
	}
	err := f.decode(r, v)
	if err == nil && f.omitZero && f.shape != shapeBool && v.IsZero() {
		// Absent and zero would be the same in Go but not to the sender, who may have meant "none" or "all" by it.
		return &InvalidError{Got: fmt.Sprint(v), Want: f.want() + ", not " + zeroWord(f.shape) + "; leave it out instead"}
	}
	return err
}

func zeroWord(s shape) string {
	if slices.Contains([]shape{shapeU64, shapeUint, shapeInt}, s) {
		return "0"
	}
	return "empty"
}

func repeated(name string) *InvalidError {
	e := &InvalidError{Got: "the field twice", Want: "it once"}
	return e.within(nameStep(name))
}
