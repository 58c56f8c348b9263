package main

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// writeJSON writes JSON text as a terminal can bear it, and ends the line.
func writeJSON(w io.Writer, text []byte) error {
	_, err := w.Write(append(escaped(text), '\n'))
	return err
}

// escaped is JSON text without what a terminal obeys or does not show. Such runes are
// inside strings alone, so that the meaning stays.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text)+1)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if unicode.Is(unseen, r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// unseen are the runes that JSON may hold as they are, and that control a terminal,
// end lines, turn the direction of writing or take up no room.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x7f, Hi: 0x9f, Stride: 1},
		{Lo: 0x200b, Hi: 0x200f, Stride: 1},
		{Lo: 0x2028, Hi: 0x202e, Stride: 1},
		{Lo: 0x2066, Hi: 0x2069, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
	},
	LatinOffset: 1,
}
