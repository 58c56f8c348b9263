package wire_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zlink/zlink-nats/wire"
)

// fuzzed holds the types that fuzzing decodes into; together they have every shape.
var fuzzed = []reflect.Type{
	reflect.TypeFor[probe](), reflect.TypeFor[wire.MeshNodeUpdateRequest](), reflect.TypeFor[wire.MeshNodeListReply](),
	reflect.TypeFor[wire.StoreWriteRequest](), reflect.TypeFor[wire.LeaseClaimRequest](), reflect.TypeFor[wire.StatusGetRequest](),
	reflect.TypeFor[wire.Authority](), reflect.TypeFor[wire.ObjectReserveRequest](),
	reflect.TypeFor[wire.ActorTransferPrepareRequest](), reflect.TypeFor[wire.ActorTransferReply](),
	reflect.TypeFor[wire.AggregatePrepareRequest](),
}

func FuzzUnmarshalCBOR(f *testing.F) {
	vectors, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(vectors) == 0 {
		f.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, path := range vectors {
		f.Add(readVector(f, path))
	}
	strict := strictCBOR(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkDecoder(t, wire.CBOR, data) && len(data) > 0 {
			var generic any
			if err := strict.Unmarshal(data, &generic); err != nil {
				t.Fatalf("%x is accepted, though %v", data, err)
			}
		}
	})
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, s := range samples() {
		data, err := wire.Marshal(wire.JSON, s.message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecoder(t, wire.JSON, data) })
}

// checkDecoder decodes data into every fuzzed type and tells whether any took it.
func checkDecoder(t *testing.T, enc wire.Encoding, data []byte) (accepted bool) {
	t.Helper()
	for _, typ := range fuzzed {
		v := reflect.New(typ).Interface()
		if err := wire.Unmarshal(enc, data, v); err != nil {
			checkRefusal(t, err)
			if err := wire.UnmarshalLenient(enc, data, reflect.New(typ).Interface()); err != nil {
				checkRefusal(t, err)
			}
			continue
		}
		accepted = true
		checkLenient(t, enc, data, v)
		for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
			checkRewrite(t, enc, v)
		}
	}
	return accepted
}

// checkLenient has the lenient reader read what the strict one has read as want.
func checkLenient(t *testing.T, enc wire.Encoding, data []byte, want any) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
	if err := wire.UnmarshalLenient(enc, data, got); err != nil {
		t.Fatalf("%q: the lenient reader refuses what the strict one takes: %v", data, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-strict +lenient):\n%s", data, diff)
	}
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	invalid, ok := errors.AsType[*wire.InvalidError](err)
	if !ok || invalid.Field == "" || invalid.Want == "" || strings.ContainsAny(err.Error(), "\r\n") {
		t.Fatalf("refused with %q, want one line that names the field", err)
	}
}

// checkRewrite writes v and reads it back.
func checkRewrite(t *testing.T, enc wire.Encoding, v any) {
	t.Helper()
	data, err := wire.Marshal(enc, v)
	if err != nil {
		t.Fatalf("write %+v: %v", v, err)
	}
	again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
	if err := wire.Unmarshal(enc, data, again); err != nil {
		t.Fatalf("read back %q: %v", data, err)
	}
	if diff := cmp.Diff(v, again); diff != "" {
		t.Fatalf("%q (-written +read):\n%s", data, diff)
	}
}
