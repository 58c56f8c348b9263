package domain_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
)

// A vector is a stored row as text: a line for each part, then the value in hex.
//
//	key: 6c6561736500...
//	revision: 1
//	expiry: 1783036830000
//
//	8201a2...

const vectorLineBytes = 48

func formatVector(r *kvstore.Row) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "key: %x\nrevision: %d\nexpiry: %d\n\n", string(r.Key), r.Revision, r.Expiry)
	for v := r.Value; len(v) > 0; {
		n := min(len(v), vectorLineBytes)
		fmt.Fprintf(&b, "%x\n", v[:n])
		v = v[n:]
	}
	return b.Bytes()
}

func parseVector(t tb, text []byte) *kvstore.Row {
	t.Helper()
	head, value, ok := strings.Cut(string(text), "\n\n")
	if !ok {
		t.Fatalf("vector without a value: %q", text)
	}
	part := map[string]string{}
	for line := range strings.Lines(head) {
		name, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		part[name] = v
	}
	return &kvstore.Row{
		Key: kvstore.Key(fromHex(t, part["key"])), Value: fromHex(t, strings.ReplaceAll(value, "\n", "")),
		Revision: kvstore.Revision(fromDecimal(t, part["revision"])), Expiry: kvstore.Instant(fromDecimal(t, part["expiry"])),
	}
}

func fromHex(t tb, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fromDecimal(t tb, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
