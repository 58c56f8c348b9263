package wire_test

import (
	"encoding/hex"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/wire"
)

// later is a reply of a later version: what this one has, and values of every type besides.
func later(t *testing.T) map[wire.Encoding][]byte {
	t.Helper()
	inCBOR, err := cbor.Marshal(map[string]any{
		"kind": "renewed", "leaseExpiresAt": 7, "storeNow": 5,
		"text": "a", "bytes": []byte{1, 2}, "list": []any{1, "b", []any{map[string]any{"c": nil}}},
		"map": map[string]any{"d": 1.5, "e": map[string]any{"f": -9}}, "tag": cbor.Tag{Number: 32, Content: "u"},
		"null": nil, "bool": true, "long": uint64(1) << 60, "": 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return map[wire.Encoding][]byte{
		wire.CBOR: inCBOR,
		wire.JSON: []byte(`{"kind":"renewed","a":[1,{"b":[null]}],"leaseExpiresAt":7,"c":{"d":1.5e3},"storeNow":5,"e":"\u0041","":null}`),
	}
}

func TestLenientPassesOverUnknownFields(t *testing.T) {
	t.Parallel()
	want := wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: 7, StoreNow: 5}
	for enc, data := range later(t) {
		var got wire.LeaseRenewReply
		if err := wire.UnmarshalLenient(enc, data, &got); err != nil {
			t.Fatalf("%v: %v", enc, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", enc, diff)
		}
		if err := wire.Unmarshal(enc, data, new(wire.LeaseRenewReply)); err == nil {
			t.Errorf("%v: the strict reader took a field that nobody knows", enc)
		}
	}
}

func TestLenientTakesUnknownValuesOfEnumerations(t *testing.T) {
	t.Parallel()
	for enc, text := range map[wire.Encoding]string{wire.CBOR: "\xa1dkinddlost", wire.JSON: `{"kind":"lost"}`} {
		var got wire.LeaseReleaseReply
		if err := wire.UnmarshalLenient(enc, []byte(text), &got); err != nil || got.Kind != "lost" || got.Kind.Valid() {
			t.Errorf("%v: got %q, valid %v, %v; want lost, which is not valid", enc, got.Kind, got.Kind.Valid(), err)
		}
		if err := wire.Unmarshal(enc, []byte(text), new(wire.LeaseReleaseReply)); err == nil {
			t.Errorf("%v: the strict reader took a value that the protocol does not have", enc)
		}
	}
}

func TestLenientRefusesWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut off in an unknown field":     "a16161",
		"text longer than the payload":    "a1616178ff",
		"list longer than the payload":    "a161619b7fffffffffffffff",
		"map longer than the payload":     "a16161bb7fffffffffffffff00",
		"unknown item of no length":       "a161619fff",
		"trailing bytes":                  "a1616101ff",
		"a known field of another type":   "a1646b696e6401",
		"reserved additional information": "a161611c",
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.UnmarshalLenient(wire.CBOR, data, new(wire.LeaseRenewReply)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, text := range map[string]string{
		"cut off":        `{"kind":"stale","a":[1`,
		"not JSON":       `{"kind":"stale","a":nul}`,
		"trailing value": `{"kind":"stale","a":1}{}`,
	} {
		if err := wire.UnmarshalLenient(wire.JSON, []byte(text), new(wire.LeaseRenewReply)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
