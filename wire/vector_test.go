package wire_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/zlink/zlink-nats/wire"
)

var update = flag.Bool("update", false, "write the test vectors anew")

// TestVectors pins the CBOR of every message: other implementations of the protocol rely on it.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "vectors", s.name+".txt")
			got, err := wire.Marshal(wire.CBOR, s.message)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				writeVector(t, path, s, got)
			}
			if want := readVector(t, path); string(got) != string(want) {
				t.Errorf("got  %x\nwant %x", got, want)
			}
		})
	}
}

// writeVector writes what the vector expects, for people the message in JSON, and the bytes in hexadecimal.
func writeVector(t *testing.T, path string, s sample, data []byte) {
	t.Helper()
	inJSON, err := wire.Marshal(wire.JSON, s.message)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "expect: %s\njson: %s\n\n", reflect.TypeOf(s.message).Elem().Name(), inJSON)
	for len(data) > 0 {
		n := min(len(data), 32)
		fmt.Fprintf(&text, "%x\n", data[:n])
		data = data[n:]
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readVector(tb testing.TB, path string) []byte {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n\n")
	data, err := hex.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		for _, s := range samples() {
			t.Run(enc.ContentType()+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				data, err := wire.Marshal(enc, s.message)
				if err != nil {
					t.Fatal(err)
				}
				got := reflect.New(reflect.TypeOf(s.message).Elem()).Interface()
				if err := wire.Unmarshal(enc, data, got); err != nil {
					t.Fatalf("read %q: %v", data, err)
				}
				if diff := cmp.Diff(s.message, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestCBORIsCoreDeterministic compares with what an independent library makes of the same message.
func TestCBORIsCoreDeterministic(t *testing.T) {
	t.Parallel()
	dec, enc := strictCBOR(t), coreCBOR(t)
	for _, s := range samples() {
		data, err := wire.Marshal(wire.CBOR, s.message)
		if err != nil {
			t.Fatal(err)
		}
		var generic any
		if err := dec.Unmarshal(data, &generic); err != nil {
			t.Errorf("%s: %x is refused: %v", s.name, data, err)
			continue
		}
		want, err := enc.Marshal(generic)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != string(want) {
			t.Errorf("%s:\ngot  %x\nwant %x", s.name, data, want)
		}
	}
}

// strictCBOR reads what the protocol allows, as far as that library can tell.
func strictCBOR(tb testing.TB) cbor.DecMode {
	tb.Helper()
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 16, UTF8: cbor.UTF8RejectInvalid,
	}.DecMode()
	if err != nil {
		tb.Fatal(err)
	}
	return mode
}

func coreCBOR(tb testing.TB) cbor.EncMode {
	tb.Helper()
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		tb.Fatal(err)
	}
	return mode
}
