package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestJSONForATerminal(t *testing.T) {
	t.Parallel()
	for why, row := range map[string]struct{ text, want string }{
		"plain":                        {`{"a":"é部屋😀 <&>\\ \n"}`, `{"a":"é部屋😀 <&>\\ \n"}`},
		"a key":                        {"{\"\u202e\":1}", `{"\u202e":1}`},
		"behind a backslash":           {"\"\\\\\u009b31m\"", `"\\\u009b31m"`},
		"the first and last of each":   {edges(0, 0), `"\u007f\u009f\u200b\u200f\u2028\u202e\u2066\u2069\ufeff\ufeff"`},
		"those before and behind them": {edges(-1, 1), edges(-1, 1)},
		"bytes that are no text":       {"\"\xff\"", "\"\xff\""},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := writeJSON(&out, []byte(row.text)); err != nil || out.String() != row.want+"\n" {
				t.Errorf("%q is written as %q, %v, want %q", row.text, out.String(), err, row.want)
			}
		})
	}
}

// edges is a JSON string of the runes at both ends of the ranges that are escaped, moved
// by so much.
func edges(low, high rune) string {
	var text strings.Builder
	text.WriteString(`"`)
	for _, r := range unseen.R16 {
		text.WriteString(string(rune(r.Lo)+low) + string(rune(r.Hi)+high))
	}
	return text.String() + `"`
}

func TestJSONForATerminalMeansTheSame(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := rune(0); r <= 0xffff; r++ {
		fmt.Fprintf(&all, "%c\\", r)
	}
	want := strings.ToValidUTF8(all.String(), "\ufffd")
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(escaped(text), &got); err != nil || got != want {
		t.Errorf("after escaping it is another text (%v)", err)
	}
}
