package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// appendJSON appends v, which is of p's type, in compact JSON. Fields stand in the order of their declaration, the names of a
// map in byte order.
func (p *plan) appendJSON(dst []byte, v reflect.Value) ([]byte, error) {
	switch p.shape {
	case shapeText, shapeEnum:
		return appendQuoted(dst, v.String())
	case shapeRID:
		if rid := v.String(); !RID(rid).isText() {
			dst = hex.AppendEncode(append(dst, `{"hex":"`...), []byte(rid))
			return append(dst, `"}`...), nil
		}
		return appendQuoted(dst, v.String())
	case shapeBytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes()), '"'), nil
	case shapeU64:
		return append(strconv.AppendUint(append(dst, '"'), v.Uint(), 10), '"'), nil
	case shapeUint:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case shapeInt:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case shapeBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case shapeArray:
		return p.appendJSONArray(dst, v)
	case shapeMap:
		return p.appendJSONMap(dst, v)
	default:
		return p.appendJSONObject(dst, v)
	}
}

func appendQuoted(dst []byte, text string) ([]byte, error) {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		return nil, errNotUTF8
	}
	return dst, nil
}

func (p *plan) appendJSONArray(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = p.elem.appendJSON(dst, v.Index(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", indexStep(i), err)
		}
	}
	return append(dst, ']'), nil
}

func (p *plan) appendJSONMap(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '{')
	keys := sortedKeys(v, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendQuoted(dst, key.String()); err == nil {
			dst, err = p.elem.appendJSON(append(dst, ':'), v.MapIndex(key))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameStep(key.String()), err)
		}
	}
	return append(dst, '}'), nil
}

func (p *plan) appendJSONObject(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		if f.absent(v) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if dst, err = f.appendJSON(append(dst, f.inJSON...), f.value(v)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(dst, '}'), nil
}
