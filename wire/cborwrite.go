package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"
)

var errNotUTF8 = errors.New("text is not valid UTF-8")

// appendHead appends the head of a CBOR item in its shortest form.
func appendHead(dst []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

// appendCBOR appends v, which is of p's type, in core deterministic CBOR.
func (p *plan) appendCBOR(dst []byte, v reflect.Value) ([]byte, error) {
	switch p.shape {
	case shapeText, shapeEnum:
		return appendText(dst, v.String())
	case shapeRID:
		if rid := v.String(); !RID(rid).isText() {
			return append(appendHead(dst, majorBytes, uint64(len(rid))), rid...), nil
		}
		return appendText(dst, v.String())
	case shapeBytes:
		return append(appendHead(dst, majorBytes, uint64(v.Len())), v.Bytes()...), nil
	case shapeU64, shapeUint:
		return appendHead(dst, majorUint, v.Uint()), nil
	case shapeInt:
		if i := v.Int(); i < 0 {
			return appendHead(dst, majorNegative, uint64(-1-i)), nil
		}
		return appendHead(dst, majorUint, uint64(v.Int())), nil
	case shapeBool:
		if v.Bool() {
			return append(dst, simpleTrue), nil
		}
		return append(dst, simpleFalse), nil
	case shapeArray:
		return p.appendCBORArray(dst, v)
	case shapeMap:
		return p.appendCBORMap(dst, v)
	default:
		return p.appendCBORObject(dst, v)
	}
}

func appendText(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errNotUTF8
	}
	return append(appendHead(dst, majorText, uint64(len(text))), text...), nil
}

func (p *plan) appendCBORArray(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = appendHead(dst, majorArray, uint64(v.Len()))
	for i := range v.Len() {
		if dst, err = p.elem.appendCBOR(dst, v.Index(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", indexStep(i), err)
		}
	}
	return dst, nil
}

func (p *plan) appendCBORMap(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = appendHead(dst, majorMap, uint64(v.Len()))
	// The order of the encoded names: a shorter one has the smaller head.
	keys := sortedKeys(v, func(a, b reflect.Value) int {
		return cmp.Or(cmp.Compare(a.Len(), b.Len()), cmp.Compare(a.String(), b.String()))
	})
	for _, key := range keys {
		if dst, err = appendText(dst, key.String()); err == nil {
			dst, err = p.elem.appendCBOR(dst, v.MapIndex(key))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameStep(key.String()), err)
		}
	}
	return dst, nil
}

func sortedKeys(v reflect.Value, compare func(a, b reflect.Value) int) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, compare)
	return keys
}

func (p *plan) appendCBORObject(dst []byte, v reflect.Value) (_ []byte, err error) {
	present := 0
	for i := range p.fields {
		if f := &p.fields[i]; !f.absent(v) {
			present++
		}
	}
	dst = appendHead(dst, majorMap, uint64(present))
	for _, i := range p.ordered {
		f := &p.fields[i]
		if f.absent(v) {
			continue
		}
		if dst, err = f.appendCBOR(append(dst, f.inCBOR...), f.value(v)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return dst, nil
}
