package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports are taken from this range: below 32768, where Linux (and above that,
// the other systems) hands out ports by itself.
const (
	firstPort = 10_000
	endPort   = 32_000

	// startAttempts is how often a server or cluster is tried with other ports:
	// between picking a port and listening on it, another process may take it.
	startAttempts = 10
)

// FreeAddresses picks n different loopback addresses that nothing listens on, for servers that this package does not start. By
// the time one listens there, another process may do so.
func FreeAddresses(t testing.TB, n int) []string {
	t.Helper()
	list := make([]string, 0, n)
	for len(list) < n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(endPort-firstPort)))
		if err != nil {
			continue
		}
		// Kept open until all are picked, so that they differ.
		defer func() { _ = l.Close() }()
		list = append(list, l.Addr().String())
	}
	return list
}
