package domain_test

import (
	"fmt"
	"reflect"

	"github.com/zlink/zlink-nats/wire"
)

// forEachLeaf calls fn for every field and every element of a descriptor, with a
// copy in which only that one is different.
func forEachLeaf(d wire.MeshNodeDescriptor, fn func(path, name string, changed wire.MeshNodeDescriptor)) {
	walkLeaves(reflect.ValueOf(&d).Elem(), "", "", func(path, name string) { fn(path, name, d) })
}

// walkLeaves changes one leaf at a time in place and changes it back after fn.
func walkLeaves(v reflect.Value, path, name string, fn func(path, name string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			at := path
			if !f.Anonymous {
				at = joinPath(path, f.Name)
			}
			walkLeaves(v.Field(i), at, f.Name, fn)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkLeaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), name, fn)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			old := v.MapIndex(k)
			v.SetMapIndex(k, different(old))
			fn(path+"."+k.String(), name)
			v.SetMapIndex(k, old)
		}
	default:
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(different(old))
		fn(path, name)
		v.Set(old)
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func different(v reflect.Value) reflect.Value {
	d := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		d.SetString(v.String() + "x")
	case reflect.Bool:
		d.SetBool(!v.Bool())
	case reflect.Int64:
		d.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		d.SetUint(v.Uint() + 1)
	default:
		panic(fmt.Sprintf("no other value of %v", v.Type()))
	}
	return d
}
