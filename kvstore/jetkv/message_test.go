package jetkv_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
)

var update = flag.Bool("update", false, "rewrite the vectors in testdata")

const prefix = "$KV.zlink."

// Messages are stored for years: neither what is written nor what is read may
// change by accident.
func TestMessagesKeepTheirForm(t *testing.T) {
	t.Parallel()
	k := kvtest.Key("a", "1")
	for name, tt := range map[string]struct {
		write   kvstore.Write
		request string
	}{
		"put":          {kvstore.Write{Key: k, Value: []byte("value")}, ""},
		"put-empty":    {kvstore.Write{Key: k}, ""},
		"put-expiring": {kvstore.Write{Key: k, Value: []byte("value"), Expiry: 1783036800123}, "request 1"},
		"put-odd-key":  {kvstore.Write{Key: "\x00.\x00>\xff\x00", Value: []byte("\x00\r\n")}, ""},
		"delete":       {kvstore.Write{Kind: kvstore.WriteDelete, Key: k}, ""},
		"expire":       {kvstore.Write{Kind: kvstore.WriteDelete, Key: k, Expired: true}, ""},
		"forget":       {kvstore.Write{Kind: kvstore.WriteForget, Key: k, Forgotten: 17}, ""},
	} {
		m := jetkv.Encode(prefix, "instance.1z", tt.request, tt.write)
		checkEncoded(t, name, vector{subject: m.Subject, header: m.Header, data: m.Data})
	}
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		checkDecoded(t, file)
	}
}

// checkEncoded compares an encoded message with its file, except for how it is
// read.
func checkEncoded(t testing.TB, name string, v vector) {
	t.Helper()
	file := filepath.Join("testdata", "vectors", name+".txt")
	if *update {
		writeFile(t, file, v.String())
	}
	want := readVector(t, file)
	want.expect = ""
	if diff := cmp.Diff(want.String(), v.String()); diff != "" {
		t.Errorf("encoded message (-%s +got):\n%s", file, diff)
	}
}

// checkDecoded compares how a message is read with what its file says.
func checkDecoded(t testing.TB, file string) {
	t.Helper()
	v := readVector(t, file)
	got := meaning(jetkv.Decode(prefix, v.subject, v.header, v.data))
	if *update {
		v.expect = got
		writeFile(t, file, v.String())
	}
	if diff := cmp.Diff(v.expect, got); diff != "" {
		t.Errorf("decoded message (-%s +got):\n%s", file, diff)
	}
}

// meaning is what is read from a message, as text.
func meaning(r jetkv.Record) string {
	if r.Foreign {
		return "no row"
	}
	kinds := map[kvstore.WriteKind]string{
		kvstore.WritePut: "put", kvstore.WriteDelete: "delete", kvstore.WriteForget: "forget",
	}
	return fmt.Sprintf("%s %q, value %q, expiry %d, expired %v, transaction %q, request %q, batch %q, its last %v",
		kinds[r.Kind], r.Key, r.Value, r.Expiry, r.Expired, r.Txn, r.Request, r.Batch, r.LastOfItsBatch)
}

// vector is one message, and how it is read.
type vector struct {
	expect  string
	subject string
	header  nats.Header
	data    []byte
}

// String is the text of the vector's file.
func (v vector) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "expect: %s\nsubject: %s\n", v.expect, v.subject)
	for _, k := range slices.Sorted(maps.Keys(v.header)) {
		fmt.Fprintf(&b, "header: %s: %s\n", k, v.header[k][0])
	}
	fmt.Fprintf(&b, "data: %s\n", hex.EncodeToString(v.data))
	return b.String()
}

func readVector(t testing.TB, file string) (v vector) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v.header = make(nats.Header)
	for line := range strings.Lines(string(content)) {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "expect":
			v.expect = value
		case "subject":
			v.subject = value
		case "header":
			k, text, _ := strings.Cut(value, ": ")
			v.header[k] = []string{text}
		case "data":
			if v.data, err = hex.DecodeString(value); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("%s: field %q", file, field)
		}
	}
	return v
}

func writeFile(t testing.TB, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzDecode: whatever is stored in the bucket, reading it neither fails nor
// invents anything, and what is a write of ours is written the same again.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		v := readVector(f, file)
		one := func(k string) string { return strings.Join(v.header[k], "") }
		f.Add(v.subject, one("Zlink-Txn"), one("Zlink-Request"), one("Zlink-Expiry"), one("Zlink-Reason"),
			one("KV-Operation"), one("Nats-Marker-Reason"), one("Nats-Batch-Id"), one("Nats-Batch-Commit"), v.data)
	}
	f.Fuzz(func(t *testing.T, subject, txn, request, expiry, reason, op, marker, batch, commit string, data []byte) {
		h := nats.Header{}
		for k, v := range map[string]string{
			"Zlink-Txn": txn, "Zlink-Request": request, "Zlink-Expiry": expiry, "Zlink-Reason": reason, "KV-Operation": op,
			"Nats-Marker-Reason": marker, "Nats-Batch-Id": batch, "Nats-Batch-Commit": commit,
		} {
			if v != "" {
				h[k] = []string{v}
			}
		}
		r := jetkv.Decode(prefix, subject, h, data)
		s := kvstore.NewState(kvtest.Schema())
		jetkv.Apply(prefix, subject, h, data, s, 1)
		if s.Revision() != 1 {
			t.Errorf("state has revision %d, want 1", s.Revision())
		}
		if r.Foreign {
			if s.Rows() != 0 || r.Key != "" {
				t.Errorf("a foreign message is row %q", r.Key)
			}
			return
		}
		if n := len(r.Key); n < 1 || n > kvstore.MaxKeyBytes {
			t.Errorf("key of %d bytes", n)
		}
		w := kvstore.Write{Kind: r.Kind, Key: r.Key, Value: r.Value, Expiry: r.Expiry, Expired: r.Expired}
		m := jetkv.Encode(prefix, r.Txn, r.Request, w)
		if strings.TrimPrefix(subject, prefix) != strings.TrimPrefix(m.Subject, prefix) {
			t.Errorf("subject %q is written again as %q", subject, m.Subject)
		}
		again := jetkv.Decode(prefix, m.Subject, m.Header, m.Data)
		r.Batch, r.LastOfItsBatch = "", false // of the group, not of the write
		switch r.Kind {
		case kvstore.WritePut:
			r.Expired = false
		default:
			r.Value, r.Expiry = nil, 0 // a removal has neither
			if r.Kind == kvstore.WriteForget {
				r.Expired = false
			}
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("written again (-read +read again):\n%s", diff)
		}
	})
}

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		have string
		want bool
	}{
		{"2.14.4", true},
		{"2.14.10", true},
		{"2.15.0", true},
		{"3.0.0", true},
		{"v2.14.4", true},
		{"2.14.4-RC.1", true}, // a pre-release counts as its release
		{"2.15", true},
		{"2.14.3", false},
		{"2.14", false},
		{"2.9.25", false}, // compared as numbers, not as text
		{"1.99.99", false},
		{"", false},
		{"nightly", false},
	} {
		if got := jetkv.VersionAtLeast(tt.have, jetkv.MinServerVersion); got != tt.want {
			t.Errorf("version %q at least %s: %v, want %v", tt.have, jetkv.MinServerVersion, got, tt.want)
		}
	}
}
