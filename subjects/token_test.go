package subjects_test

import (
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/subjects"
)

func TestToken(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, token string }{
		"empty":              {"", "="},
		"letters and digits": {"AZaz09", "AZaz09"},
		"dash and underline": {"a-b_c", "a-b_c"},
		"colon":              {"user:42", "user=3A42"},
		"dot":                {"a.b", "a=2Eb"},
		"wildcards":          {"*>", "=2A=3E"},
		"the escape itself":  {"=", "=3D"},
		"space":              {"a b", "a=20b"},
		"NUL":                {"\x00", "=00"},
		"UTF-8":              {"é", "=C3=A9"},
		"any bytes":          {"\xff\x7f", "=FF=7F"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := subjects.EncodeToken(row.text); got != row.token {
				t.Errorf("EncodeToken(%q) = %q, want %q", row.text, got, row.token)
			}
			if got, err := subjects.DecodeToken(row.token); got != row.text || err != nil {
				t.Errorf("DecodeToken(%q) = %q, %v, want %q", row.token, got, err, row.text)
			}
		})
	}
}

func TestDecodeTokenRefuses(t *testing.T) {
	t.Parallel()
	for why, token := range map[string]string{
		"no token is empty":                 "",
		"lower-case digits":                 "=c3",
		"one digit":                         "a=3",
		"no digit behind other text":        "a=",
		"no digit before other text":        "=a",
		"not a digit":                       "=3G",
		"'a' stands for itself":             "=61",
		"'_' stands for itself":             "=5F",
		"an empty text inside a longer one": "==",
		"a dot parts tokens":                "a.b",
		"a wildcard":                        "*",
		"a space":                           "a b",
		"a byte beyond ASCII":               "é",
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			if got, err := subjects.DecodeToken(token); err == nil {
				t.Errorf("DecodeToken(%q) = %q, want an error", token, got)
			}
		})
	}
}

func TestEncodeTokenOfPlainTextAllocatesNothing(t *testing.T) {
	text := strings.Repeat("abc-09_Z", 8)
	if n := testing.AllocsPerRun(100, func() { _, _ = subjects.DecodeToken(subjects.EncodeToken(text)) }); n != 0 {
		t.Errorf("encoding and decoding %q allocates %v times, want 0", text, n)
	}
}

func FuzzEncodeToken(f *testing.F) {
	for _, text := range []string{"", "a", "=", "user:42", "a.b", "\x00", "\xff", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token := subjects.EncodeToken(text)
		if token == "" || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=") != "" {
			t.Fatalf("EncodeToken(%q) = %q, which is no plain token", text, token)
		}
		if got, err := subjects.DecodeToken(token); got != text || err != nil {
			t.Fatalf("DecodeToken(%q) = %q, %v, want %q", token, got, err, text)
		}
	})
}

func FuzzDecodeToken(f *testing.F) {
	for _, token := range []string{"", "a", "=", "==", "=3A", "=3a", "=61", "a=", "a.b"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		text, err := subjects.DecodeToken(token)
		if err != nil {
			return
		}
		if got := subjects.EncodeToken(text); got != token {
			t.Fatalf("DecodeToken(%q) = %q, which is written %q", token, text, got)
		}
	})
}
