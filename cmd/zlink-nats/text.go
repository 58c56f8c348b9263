package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/zlink/zlink-nats/wire"
)

// shown is text that others chose, such as an id, as a terminal can bear it: itself,
// or quoted when it is empty, holds blanks or what cannot be seen, or might be taken
// for something else, such as a quoted text or a command.
func shown[Text ~string](text Text) string {
	s := string(text)
	plain := s != "" && s != none && s[0] != '"' && s[0] != '\'' && utf8.ValidString(s)
	for _, r := range s {
		plain = plain && r != ' ' && strconv.IsPrint(r)
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// none stands in a table where there is nothing.
const none = "-"

// optional is text that may be absent.
func optional[Text ~string](text Text) string {
	if text == "" {
		return none
	}
	return shown(text)
}

// yesNo is a truth for people.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// at is an instant in a table.
func at(i wire.Instant) string {
	return time.UnixMilli(int64(i)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// since is the time between two instants, as exact as anybody wants it.
func since(from, to wire.Instant) time.Duration {
	d := time.Duration(to-from) * time.Millisecond
	switch {
	case d.Abs() < time.Minute:
		return d.Round(100 * time.Millisecond)
	default:
		return d.Round(time.Second)
	}
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// table aligns columns.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// cellWidth is how wide a cell of a table may be: one long id must not pad all rows.
const cellWidth = 64

// writeRow adds a row to a table, behind an indentation.
func writeRow(t *tabwriter.Writer, indent string, cells []string) {
	short := make([]string, len(cells))
	for i, cell := range cells {
		short[i] = cut(cell, cellWidth)
	}
	fmt.Fprintln(t, indent+strings.Join(short, "\t"))
}

// cut is text in no more than so many columns.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// valueWidth is how wide a value in a sentence may be.
const valueWidth = 200

// value is text from [shown], a word, or what may be copied into a shell.
var value = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)

// fit is a sentence with its long values cut. Arguments of a command stay whole, as
// it would be another command without the rest; no text from [shown] looks like one.
func fit(sentence string) string {
	return value.ReplaceAllStringFunc(sentence, func(v string) string {
		if v[0] == '\'' {
			return v
		}
		return cut(v, valueWidth)
	})
}
