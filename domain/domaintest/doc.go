// Package domaintest holds the tests of the rules of package domain on the engine
// that runs them in production. The tests of domain itself know nothing of NATS: they
// run the rules on the store's reference implementation, one request after another.
// Here random requests of every operation go to two instances of a replicated store
// and to the reference implementation, alone, in crowds, and over connections that
// break, and what must hold after every commit is checked after every commit.
//
// There is nothing to import.
package domaintest
