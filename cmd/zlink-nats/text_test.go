package main

import (
	"strings"
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
		"an apostrophe in front":      {"'a", `"'a"`},
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

func TestLongCellDoesNotPadATable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 65)
	var out strings.Builder
	if err := printRows(&out, []string{"ID", "LIVE"}, [][]string{{long, "yes"}, {long[:2*64], "no"}}); err != nil {
		t.Fatal(err)
	}
	want := "ID" + strings.Repeat(" ", 64) + "LIVE\n" + long[:2*63] + "…  yes\n" + long[:2*64] + "  no\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	a := func(n int) string { return strings.Repeat("a", n) }
	many := strings.Repeat("word ", 100)
	for why, row := range map[string]struct{ text, want string }{
		"many short words":           {many, many},
		"a word that just fits":      {"node " + a(200) + " is", "node " + a(200) + " is"},
		"a long word":                {"node " + a(201) + " is", "node " + a(199) + "… is"},
		"a quoted text with blanks":  {`from "` + many + `", so`, `from "` + many[:198] + "…, so"},
		"a quote in a quoted text":   {`from "\" ` + many + `", so`, `from "\" ` + many[:195] + "…, so"},
		"an argument of a command":   {"zlink-nats call x '" + a(300) + "'", "zlink-nats call x '" + a(300) + "'"},
		"a text that begins like it": {shown("'" + a(300)), `"'` + a(197) + "…"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			if got := fit(row.text); got != row.want {
				t.Errorf("fit(%q) = %q, want %q", row.text, got, row.want)
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
