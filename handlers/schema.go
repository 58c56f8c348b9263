package handlers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/zlink/zlink-nats/wire"
)

// schemaOf returns the JSON schema of a request in its JSON form, as text. It describes what package wire reads, which is not
// what encoding/json would: the library's own inference does not know our scalars and which fields are optional.
func schemaOf[Req any]() string {
	t := reflect.TypeFor[Req]()
	text, err := json.Marshal(schemaOfType(t))
	if err != nil {
		panic(fmt.Sprintf("handlers: schema of %v: %v", t, err))
	}
	return string(text)
}

func schemaOfType(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[wire.RID]() {
		return &jsonschema.Schema{
			Types:       []string{"string", "object"},
			Description: `routing id: text, or {"hex": "00ff"} for bytes that are not`,
		}
	}
	if t == reflect.TypeFor[wire.ObjectKey]() {
		return keySchema(t)
	}
	if enum, ok := reflect.Zero(t).Interface().(wire.Enum); ok {
		return enumSchema(enum)
	}
	zero := 0.0
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOfType(t.Elem())
	case reflect.Struct:
		return structSchema(t)
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: schemaOfType(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
		}
		return &jsonschema.Schema{Type: "array", Items: schemaOfType(t.Elem())}
	case reflect.Uint64:
		return &jsonschema.Schema{
			Types: []string{"string", "integer"}, Pattern: "^[0-9]+$", Minimum: &zero,
			Description: "decimal text, or a number up to 2^53-1",
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return &jsonschema.Schema{Type: "integer", Minimum: &zero}
	case reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	default:
		panic(fmt.Sprintf("handlers: no request holds %v", t))
	}
}

// keySchema returns the schema of an object's key: the map or its text form. What it says of maps does not bind text, and the other
// way round. It cannot count the bytes of the id.
func keySchema(t reflect.Type) *jsonschema.Schema {
	s := structSchema(t)
	s.Type, s.Types = "", []string{"string", "object"}
	s.Pattern = "^" + wire.KeyTextPrefix + "[as]:[1-9][0-9]{0,2}:([A-Za-z0-9._~-]|%[0-9A-F]{2})+$"
	s.Description = "key of an object: a map, or its text form zla1:a:<bytes>:<id> or zla1:s:<bytes>:<id>"
	return s
}

func enumSchema(enum wire.Enum) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, value := range enum.Values() {
		s.Enum = append(s.Enum, value)
	}
	return s
}

func structSchema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: make(map[string]*jsonschema.Schema),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // embedded: its fields come one by one
		}
		s.Properties[name] = schemaOfType(f.Type)
		s.PropertyOrder = append(s.PropertyOrder, name)
		if options == "" && f.Type.Kind() != reflect.Pointer && f.Tag.Get("wire") != "stamped" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}
