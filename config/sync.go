package config

import (
	"fmt"
	"time"
)

// Sync says when commits are written through to the disk. The zero value means
// before every acknowledgement.
type Sync struct {
	// Every is the time between two writes; 0 means always, before a commit is
	// acknowledged.
	Every time.Duration
}

// always is the text of the zero value.
const always = "always"

// Always tells whether commits reach the disk before they are acknowledged.
func (s Sync) Always() bool { return s.Every == 0 }

// String is "always" or the period.
func (s Sync) String() string {
	if s.Always() {
		return always
	}
	return s.Every.String()
}

// UnmarshalText reads "always" or a period greater than 0, such as "2m".
func (s *Sync) UnmarshalText(text []byte) error {
	if string(text) == always {
		*s = Sync{}
		return nil
	}
	every, err := time.ParseDuration(string(text))
	if err != nil || every <= 0 {
		return fmt.Errorf("got %q, want %q or a period such as \"2m\"", text, always)
	}
	s.Every = every
	return nil
}
