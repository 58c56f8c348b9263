// Package subjects names things on NATS: the subjects of operations and of pushed changes, and the subject under which the row
// of a key is stored.
//
// # Tokens
//
// A NATS subject is a list of tokens joined by dots, and most bytes may not stand in one. [EncodeToken] writes any text as one
// token, and [DecodeToken] reads back exactly what EncodeToken writes and nothing else:
//
//	A-Z a-z 0-9 - _     the byte itself
//	any other byte      '=' and two upper-case hexadecimal digits   user:42 -> user=3A42
//	the empty text      '='
//
// # Subjects
//
//	<prefix>.<group>.<operation>                      a request to any instance
//	<prefix>.as.<owner id>.<group>.<operation>        the same, acting for one owner
//	<prefix>.instance.<instance id>.<group>.<op>      a request to one instance alone
//	<prefix>.instance.<instance id>.as.<owner>.<...>  the same, acting for one owner
//	<prefix>.changes.<kind>.<scope>.<id>              a committed change
//
// # Keys
//
// A key of the store is opaque bytes in segments joined by NUL. Its subject has one token for each segment, so that the keys
// that begin with some segments are one subject wildcard:
//
//	mesh-node NUL play NUL n:1      mesh-node.play.n=3A1
//
// # Concurrency
//
// Everything here is pure and may be used from any goroutine.
package subjects
