package peers

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostSchemes are the schemes whose endpoints name a host and a port.
var hostSchemes = []string{"tcp", "tls", "ws", "wss"}

// NormalizeEndpoint returns the form in which endpoints are written and compared: without space around it, the scheme in lower
// case; with the schemes tcp, tls, ws and wss also the host in lower case, an IPv6 address in brackets and with its zone as
// given, the port without leading zeros, the path without slashes at its end. Where an IPv6 address without brackets could end
// in a port, it does. No name is resolved. What is no endpoint is left alone but for the space around it. To do it twice
// changes nothing more.
//
// Spec: domain 15.5.
func NormalizeEndpoint(endpoint string) string {
	endpoint = strings.TrimSpace(endpoint)
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok || !isScheme(scheme) {
		return endpoint
	}
	scheme = lower(scheme)
	if slices.Contains(hostSchemes, scheme) {
		rest = normalizeRest(rest)
	}
	return scheme + "://" + rest
}

// isScheme tells whether s is a scheme as URIs have them.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(c) && !strings.ContainsRune("+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// normalizeRest normalizes what follows the scheme: authority, path, and a query or fragment, which stays as it is.
func normalizeRest(rest string) string {
	suffix := ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest, suffix = strings.TrimRight(rest[:i], "/"), rest[i:]
	} else {
		// Space before the slashes would be at the end without them.
		rest = strings.TrimRightFunc(rest, func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	user := authority[:strings.LastIndexByte(authority, '@')+1]
	return user + normalizeHost(authority[len(user):]) + path + suffix
}

// normalizeHost normalizes a host with or without a port.
func normalizeHost(s string) string {
	i := strings.LastIndexByte(s, ':')
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.LastIndexByte(s, ']')
		if end < 0 || s[end+1:] != "" && s[end+1] != ':' {
			return s
		}
		port := s[end+1:]
		if port != "" {
			port = ":" + normalizePort(port[1:])
		}
		return "[" + lowerAddress(s[1:end]) + "]" + port
	case i < 0:
		return lower(s)
	case strings.IndexByte(s, ':') == i:
		return lower(s[:i]) + ":" + normalizePort(s[i+1:])
	case isIPv6(s[:i]) && isPort(s[i+1:]):
		return "[" + lowerAddress(s[:i]) + "]:" + normalizePort(s[i+1:])
	case isIPv6(s):
		return "[" + lowerAddress(s) + "]"
	}
	return s
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// lowerAddress puts an address in lower case, but not its zone: the names of interfaces have case.
func lowerAddress(s string) string {
	address, zone, zoned := strings.Cut(s, "%")
	if !zoned {
		return lower(address)
	}
	return lower(address) + "%" + zone
}

// isPort tells whether s is a number, or the star that asks for any port.
func isPort(s string) bool {
	return s == "*" || s != "" && strings.Trim(s, "0123456789") == ""
}

// normalizePort drops leading zeros; what is no number stays as it is.
func normalizePort(s string) string {
	if !isPort(s) {
		return s
	}
	if digits := strings.TrimLeft(s, "0"); digits != "" {
		return digits
	}
	return "0"
}

// lower puts text in lower case. Bytes that are no text stay as they are.
func lower(s string) string {
	if utf8.ValidString(s) {
		return strings.ToLower(s)
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
