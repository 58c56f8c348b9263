package subjects_test

import (
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/subjects"
)

func TestKeySubject(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("\xe9\x80", 512)
	for name, row := range map[string]struct{ key, subject string }{
		"one segment":          {"status", "status"},
		"segments":             {"mesh-node\x00play\x00n:1", "mesh-node.play.n=3A1"},
		"dot within a segment": {"a.b\x00c", "a=2Eb.c"},
		"NUL alone":            {"\x00", "=.="},
		"NUL first":            {"\x00a", "=.a"},
		"NUL last":             {"a\x00", "a.="},
		"NUL twice":            {"a\x00\x00b", "a.=.b"},
		"the longest key":      {longest, strings.Repeat("=E9=80", 512)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := subjects.KeySubject(row.key); got != row.subject {
				t.Errorf("KeySubject(%q) = %q, want %q", row.key, got, row.subject)
			}
			if got, err := subjects.SubjectKey(row.subject); got != row.key || err != nil {
				t.Errorf("SubjectKey(%q) = %q, %v, want %q", row.subject, got, err, row.key)
			}
		})
	}
}

func TestSubjectKeyRefuses(t *testing.T) {
	t.Parallel()
	for why, subject := range map[string]string{
		"no subject is empty":             "",
		"the empty key":                   "=",
		"an empty token":                  "a..b",
		"a dot at the end":                "a.",
		"a NUL parts segments":            "a=00b",
		"a token that is written plainly": "a.=62",
		"a wildcard":                      "a.*",
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			if got, err := subjects.SubjectKey(subject); err == nil {
				t.Errorf("SubjectKey(%q) = %q, want an error", subject, got)
			}
		})
	}
}

func FuzzKeySubject(f *testing.F) {
	for _, key := range []string{"a", "a\x00b", "\x00", "\x00\x00", "a\x00", "=", ".", strings.Repeat("\xff", 1024)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if key == "" {
			return
		}
		subject := subjects.KeySubject(key)
		if strings.Count(subject, ".") != strings.Count(key, "\x00") {
			t.Fatalf("KeySubject(%q) = %q, want a token for each segment", key, subject)
		}
		if got, err := subjects.SubjectKey(subject); got != key || err != nil {
			t.Fatalf("SubjectKey(%q) = %q, %v, want %q", subject, got, err, key)
		}
	})
}

func FuzzSubjectKey(f *testing.F) {
	for _, subject := range []string{"", "a", "=", "=.=", "a.b", "a..b", "a=00b", "=3A.x"} {
		f.Add(subject)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		key, err := subjects.SubjectKey(subject)
		if err != nil {
			return
		}
		if got := subjects.KeySubject(key); got != subject || key == "" {
			t.Fatalf("SubjectKey(%q) = %q, which is written %q", subject, key, got)
		}
	})
}
