package domain_test

import (
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// recordOf encodes a body as the value of a row.
func recordOf(t tb, body map[string]any) []byte {
	t.Helper()
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := mode.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{0x82, 1}, b...)
}

var _ = testing.Short
