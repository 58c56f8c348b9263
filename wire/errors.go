package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// PayloadField is the Field of an error that concerns the payload as a whole.
const PayloadField = "payload"

// gotMax is how much of a refused value an error repeats, in bytes: enough to recognise it, short enough for a header line.
const gotMax = 64

// InvalidError refuses a request for what is in it. The protocol's code is [CodeInvalidArgument]. It is never worth a retry.
type InvalidError struct {
	Field string // path of the field from the payload down: "descriptor.populationCapacity.spotTypes[2].limit"
	Got   string // the refused value or, where its type is wrong, what that is; empty when it is missing or empty
	Want  string // what is allowed
}

// Error says in one line which field was refused, what it held and what it may hold.
func (e *InvalidError) Error() string {
	got := "missing or empty"
	if e.Got != "" {
		got = "got " + shorten(e.Got)
	}
	return fmt.Sprintf("invalid %s: %s, want %s", e.Field, got, e.Want)
}

// TooLargeError refuses a value for its size. The protocol's code is [CodeTooLarge].
type TooLargeError struct {
	Field string // path of the field, as in [InvalidError]
	Limit int    // greatest size allowed, in bytes unless Field counts something else
	Got   int    // size that was sent, in the same unit
}

// Error says in one line which field is too large, and by how much.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s too large: got %d, want at most %d", e.Field, e.Got, e.Limit)
}

// within prepends one step to the path of e, on the way up from where the error was found.
func (e *InvalidError) within(step string) *InvalidError {
	switch {
	case e.Field == "":
		e.Field = step
	case e.Field[0] == '[':
		e.Field = step + e.Field
	default:
		e.Field = step + "." + e.Field
	}
	return e
}

// nameStep is the step of a path to a name that a caller chose: itself when it is harmless, else quoted in brackets.
func nameStep(name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "[" + shorten(name) + "]"
		}
	}
	if name == "" || len(name) > gotMax {
		return "[" + shorten(name) + "]"
	}
	return name
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

// shorten quotes text, cut to [gotMax] bytes.
func shorten(text string) string {
	if len(text) <= gotMax {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.ToValidUTF8(text[:gotMax], "")) + "..."
}
