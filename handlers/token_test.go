package handlers

import (
	"errors"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
)

func TestTokenRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []token{
		{},
		{list: 1<<64 - 1, instance: "one", snapshot: "ABC", after: "mesh-node\x00play\x00\xff"},
		{
			list: 7, instance: strings.Repeat("i", maxInstanceID), snapshot: strings.Repeat("s", 255),
			after: kvstore.Key(strings.Repeat("k", kvstore.MaxKeyBytes)),
		},
	} {
		text := want.encode()
		if len(text) > 4096 {
			t.Errorf("token of %d bytes, want at most 4096", len(text))
		}
		if got, err := decodeToken(text); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// FuzzDecodeToken: what is accepted is the one text of its token; everything else is an expired scan.
func FuzzDecodeToken(f *testing.F) {
	f.Add(token{list: 7, instance: "one", snapshot: "ABC", after: "k"}.encode())
	f.Add("")
	f.Add("abc")
	f.Add("AQAAAAAAAAAH")
	f.Add("AQAAAAAAAAAH_w")
	f.Add(token{}.encode() + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeToken(text)
		switch {
		case err != nil && !errors.Is(err, kvstore.ErrScanExpired):
			t.Fatalf("decode %q: %v", text, err)
		case err == nil && got.encode() != text:
			t.Fatalf("%q is another text of %+v", text, got)
		}
	})
}
