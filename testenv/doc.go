// Package testenv is the surroundings of every package's tests: real servers
// and clusters in the process, a proxy that breaks connections in chosen ways,
// a clock that only moves when told, and a wait for conditions.
//
// Everything takes the test it works for: it fails that test when something
// goes wrong, and is taken down when the test ends, connections before servers.
// Only the functions that say so may be called from other goroutines than the
// test's own.
//
// # Ports
//
// Servers and clusters listen on 127.0.0.1, on ports below the range from which
// the system serves "any free port" and outgoing connections. So a server that
// is down for a while finds its port free when it comes back.
package testenv
