package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// InvalidError says that a setting is out of range.
type InvalidError struct {
	Field string // name of the flag, without dashes
	Got   string // the value as given
	Want  string // what is allowed
}

// Error names the flag, the value and what is allowed.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("--%s: got %q, want %s", e.Field, e.Got, e.Want)
}

func atLeast(field string, got, least time.Duration) error {
	if got < least {
		return &InvalidError{field, got.String(), fmt.Sprintf("a duration of %v or more", least)}
	}
	return nil
}

func between(field string, got, least, most int) error {
	if got < least || got > most {
		return &InvalidError{field, strconv.Itoa(got), fmt.Sprintf("%d to %d", least, most)}
	}
	return nil
}

// checkAddress accepts "host:port" with a port of 0..65535; the host may be empty.
func checkAddress(field, got, want string) error {
	_, port, err := net.SplitHostPort(got)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return &InvalidError{field, got, want}
	}
	return nil
}

// isName tells whether text is one token of a subject that needs no escaping.
func isName(text string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return text != "" && strings.Trim(text, letters) == ""
}

// isSubject tells whether text is names joined by single dots.
func isSubject(text string) bool {
	for token := range strings.SplitSeq(text, ".") {
		if !isName(token) {
			return false
		}
	}
	return true
}
