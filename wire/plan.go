package wire

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// shape is how the codec treats a Go type.
type shape uint8

const (
	shapeText   shape = iota // string
	shapeEnum                // string type that is an [Enum]
	shapeRID                 // [RID]
	shapeBytes               // []byte
	shapeU64                 // uint64
	shapeUint                // narrower unsigned integer
	shapeInt                 // int64
	shapeBool                // bool
	shapeArray               // slice
	shapeMap                 // map with string keys
	shapeObject              // struct
)

// plan is what the codec has to know about a type, worked out once. It never changes afterwards.
type plan struct {
	shape  shape
	typ    reflect.Type
	max    uint64        // shapeUint: greatest value
	values []string      // shapeEnum
	elem   *plan         // shapeArray, shapeMap
	empty  reflect.Value // shapeArray: the list of no elements

	// shapeObject
	textual  bool           // text may stand for the map
	fields   []field        // in the order of their declaration
	byName   map[string]int // index into fields
	ordered  []int          // indexes into fields, in the order of deterministic CBOR
	required uint64         // bit i: fields[i] must be present
}

// field is one field of an object.
type field struct {
	*plan
	name     string
	index    []int  // for [reflect.Value.FieldByIndex]
	pointer  bool   // optional: nil is absent
	omitZero bool   // optional: the zero value is absent
	inCBOR   []byte // the encoded name
	inJSON   []byte // the quoted name and a colon
	next     int    // the field that follows in deterministic CBOR, to guess the next name
}

// maxFields is the number of bits of [plan.required].
const maxFields = 64

var (
	plans    sync.Map // reflect.Type -> *plan
	ridType  = reflect.TypeFor[RID]()
	enumType = reflect.TypeFor[Enum]()
	textType = reflect.TypeFor[textual]()
)

// textual is an object that can be given as text as well. It is written as a map.
type textual interface {
	fromText(text string) *InvalidError
}

// planOf returns the plan of a struct type. It panics for a type that no message may have.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	// A type's plan is published only when it is complete; two goroutines may both work it out.
	p, _ := plans.LoadOrStore(t, (&planner{}).plan(t))
	return p.(*plan)
}

// planner works out the plan of one type and of all within it; it remembers them because a type may be within itself.
type planner struct{ known map[reflect.Type]*plan }

func (b *planner) plan(t reflect.Type) *plan {
	if p, ok := b.known[t]; ok {
		return p
	}
	if b.known == nil {
		b.known = make(map[reflect.Type]*plan)
	}
	p := &plan{typ: t}
	b.known[t] = p
	switch t.Kind() {
	case reflect.String:
		p.planString(t)
	case reflect.Bool:
		p.shape = shapeBool
	case reflect.Int64:
		p.shape = shapeInt
	case reflect.Uint64:
		p.shape = shapeU64
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		p.shape, p.max = shapeUint, math.MaxUint64>>(64-t.Bits())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			p.shape = shapeBytes
			break
		}
		p.shape, p.elem, p.empty = shapeArray, b.plan(t.Elem()), reflect.MakeSlice(t, 0, 0)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("wire: no message holds %v: keys must be strings", t))
		}
		p.shape, p.elem = shapeMap, b.plan(t.Elem())
	case reflect.Struct:
		p.shape, p.textual = shapeObject, reflect.PointerTo(t).Implements(textType)
		b.addFields(p, t, nil)
		p.finish()
	default:
		panic(fmt.Sprintf("wire: no message holds %v", t))
	}
	return p
}

func (p *plan) planString(t reflect.Type) {
	switch {
	case t == ridType:
		p.shape = shapeRID
	case t.Implements(enumType):
		p.shape, p.values = shapeEnum, reflect.Zero(t).Interface().(Enum).Values()
	}
}

// addFields adds the fields of struct t, which lies at index within the struct of p.
func (b *planner) addFields(p *plan, t reflect.Type, index []int) {
	for f := range t.Fields() {
		at := slices.Concat(index, f.Index)
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			b.addFields(p, f.Type, at)
			continue
		}
		if name == "" || !f.IsExported() || tagged && options != "omitzero" {
			panic(fmt.Sprintf("wire: field %s of %v needs a json tag of a name and at most omitzero", f.Name, t))
		}
		b.addField(p, field{
			name: name, index: at, pointer: f.Type.Kind() == reflect.Pointer, omitZero: tagged,
		}, f)
	}
}

func (b *planner) addField(p *plan, f field, source reflect.StructField) {
	t := source.Type
	if f.pointer {
		t = t.Elem()
	}
	f.plan = b.plan(t)
	f.inCBOR = append(appendHead(nil, majorText, uint64(len(f.name))), f.name...)
	f.inJSON = append([]byte{'"'}, f.name+`":`...)
	if !f.pointer && !f.omitZero && source.Tag.Get("wire") != "stamped" {
		p.required |= 1 << len(p.fields)
	}
	p.fields = append(p.fields, f)
}

// finish indexes the fields of an object.
func (p *plan) finish() {
	if len(p.fields) > maxFields {
		panic(fmt.Sprintf("wire: %v has more than %d fields", p.typ, maxFields))
	}
	p.byName = make(map[string]int, len(p.fields))
	for i, f := range p.fields {
		if _, ok := p.byName[f.name]; ok {
			panic(fmt.Sprintf("wire: %v has two fields %q", p.typ, f.name))
		}
		p.byName[f.name] = i
		p.ordered = append(p.ordered, i)
	}
	slices.SortFunc(p.ordered, func(a, b int) int { return slices.Compare(p.fields[a].inCBOR, p.fields[b].inCBOR) })
	for k, i := range p.ordered {
		p.fields[i].next = p.ordered[(k+1)%len(p.ordered)]
	}
}

// absent tells whether f is left out of the output of the object.
func (f *field) absent(object reflect.Value) bool {
	switch {
	case f.pointer:
		return object.FieldByIndex(f.index).IsNil()
	case f.omitZero:
		return object.FieldByIndex(f.index).IsZero()
	}
	return false
}

// value returns the value of f, which is not absent, in the object.
func (f *field) value(object reflect.Value) reflect.Value {
	v := object.FieldByIndex(f.index)
	if f.pointer {
		return v.Elem()
	}
	return v
}

// want names the values that p reads, for errors.
func (p *plan) want() string {
	switch p.shape {
	case shapeText:
		return "text"
	case shapeEnum:
		return "one of " + strings.Join(p.values, ", ")
	case shapeRID:
		return "a routing id"
	case shapeBytes:
		return "bytes"
	case shapeU64:
		return wantU64
	case shapeUint:
		return wantUint(p.max)
	case shapeInt:
		return wantInt
	case shapeBool:
		return wantBool
	case shapeArray:
		return wantArray
	default:
		if p.textual {
			return wantMap + " or its text form"
		}
		return wantMap
	}
}
