package subjects

import (
	"fmt"
	"strings"
)

const (
	escape    = '='
	hexDigits = "0123456789ABCDEF"
	shownMax  = 64 // bytes of bad input repeated in an error
)

// plain holds the bytes that stand for themselves in a token.
var plain = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
		set[c] = true
	}
	return set
}()

// EncodeToken writes text, which may hold any bytes, as one subject token. It returns text itself, without allocating, when
// nothing in it has to be escaped.
func EncodeToken(text string) string {
	escaped := escapes(text)
	if escaped == 0 && text != "" {
		return text
	}
	return string(appendToken(make([]byte, 0, len(text)+2*escaped+1), text))
}

// DecodeToken reads a token written by [EncodeToken]. It refuses everything that EncodeToken does not write: other bytes,
// lower-case or missing hexadecimal digits, escaped bytes that stand for themselves, and the empty token.
func DecodeToken(token string) (string, error) {
	switch {
	case token == "":
		return "", tokenError(token, "is empty")
	case token == string(escape):
		return "", nil
	}
	i := 0
	for i < len(token) && plain[token[i]] {
		i++
	}
	if i == len(token) {
		return token, nil
	}
	text := append(make([]byte, 0, len(token)), token[:i]...)
	for i < len(token) {
		c := token[i]
		if plain[c] {
			text = append(text, c)
			i++
			continue
		}
		if c != escape {
			return "", tokenError(token, fmt.Sprintf("has the byte %q", c))
		}
		b, ok := unescape(token[i+1:])
		if !ok {
			return "", tokenError(token, "has '=' without two upper-case hexadecimal digits")
		}
		if plain[b] {
			return "", tokenError(token, fmt.Sprintf("escapes %q needlessly", b))
		}
		text = append(text, b)
		i += 3
	}
	return string(text), nil
}

// appendToken appends the token of text to dst.
func appendToken(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, escape)
	}
	for i := range len(text) {
		if c := text[i]; plain[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, escape, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// escapes counts the bytes of text that do not stand for themselves.
func escapes(text string) int {
	n := 0
	for i := range len(text) {
		if !plain[text[i]] {
			n++
		}
	}
	return n
}

// unescape reads the two digits that s begins with.
func unescape(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, s[0]), strings.IndexByte(hexDigits, s[1])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

func tokenError(token, why string) error {
	return fmt.Errorf("decode token %q: %s", token[:min(len(token), shownMax)], why)
}
