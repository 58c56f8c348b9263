// Package kvtest tests that a store keeps the promises of package kvstore. The
// reference implementation and the real engine both pass it, so what one shows
// the other will do.
//
// # Example
//
//	kvtest.Run(t, kvtest.Backend{
//		Create: func(t testing.TB, c kvtest.Config) func() kvstore.Store {
//			s := memkv.New(memkv.Options{Schema: c.Schema, Clock: c.Clock, Start: c.Start})
//			return func() kvstore.Store { return s }
//		},
//	})
package kvtest
