package main

import (
	"testing"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

func TestShown(t *testing.T) {
	t.Parallel()
	for why, row := range map[string]struct{ text, want string }{
		"plain":                       {"user:42", "user:42"},
		"letters of any language":     {"é部屋", "é部屋"},
		"a quote inside":              {`a"b`, `a"b`},
		"nothing":                     {"", `""`},
		"what stands for nothing":     {"-", `"-"`},
		"a blank":                     {"a b", `"a b"`},
		"a quote in front":            {`"a"`, `"\"a\""`},
		"a terminal's escape":         {"\x1b[31m", `"\x1b[31m"`},
		"an escape of eight bits":     {"\u009b31m", `"\u009b31m"`},
		"a tab":                       {"a\tb", `"a\tb"`},
		"writing from right to left":  {"\u202ea", `"\u202ea"`},
		"a blank that is not a space": {"a\u00a0b", `"a\u00a0b"`},
		"bytes that are no text":      {"\x00\xff", `"\x00\xff"`},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			if got := shown(row.text); got != row.want {
				t.Errorf("shown(%q) = %s, want %s", row.text, got, row.want)
			}
		})
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	for millis, want := range map[wire.Instant]time.Duration{
		0: 0, 49: 0, 50: 100 * time.Millisecond, 12_345: 12_300 * time.Millisecond, 61_499: 61 * time.Second, -1_000: -time.Second,
	} {
		if got := since(1000, 1000+millis); got != want {
			t.Errorf("since over %d ms = %v, want %v", millis, got, want)
		}
	}
}
