package subjects

import (
	"errors"
	"fmt"
	"strings"
)

// keySeparator stands between the segments of a key. No identifier of the protocol may hold it.
const keySeparator = 0

// errEmptyKey is the refusal of the one subject that would be the empty key.
var errEmptyKey = errors.New("the key is empty")

// KeySubject returns the subject of a key, below the prefix of its bucket. Any key of one byte or more has a subject of its
// own; NULs that lead, trail or follow one another make empty segments.
func KeySubject(key string) string {
	escaped := escapes(key)
	if escaped == 0 && key != "" {
		return key
	}
	subject := make([]byte, 0, len(key)+2*escaped+1)
	for {
		segment, rest, more := strings.Cut(key, string(rune(keySeparator)))
		subject = appendToken(subject, segment)
		if !more {
			return string(subject)
		}
		subject = append(subject, '.')
		key = rest
	}
}

// SubjectKey returns the key whose subject [KeySubject] writes as subject, and refuses every text that is no key's subject.
func SubjectKey(subject string) (string, error) {
	switch {
	case subject == string(escape):
		return "", keyError(subject, errEmptyKey)
	case subject != "" && escapes(subject) == 0:
		return subject, nil
	}
	key := make([]byte, 0, len(subject))
	for {
		token, rest, more := strings.Cut(subject, ".")
		segment, err := DecodeToken(token)
		if err != nil {
			return "", keyError(subject, err)
		}
		if strings.IndexByte(segment, keySeparator) >= 0 {
			return "", keyError(subject, fmt.Errorf("the segment %q holds a NUL", segment))
		}
		key = append(key, segment...)
		if !more {
			return string(key), nil
		}
		key = append(key, keySeparator)
		subject = rest
	}
}

func keyError(subject string, err error) error {
	return fmt.Errorf("read key of subject %q: %w", subject[:min(len(subject), shownMax)], err)
}
