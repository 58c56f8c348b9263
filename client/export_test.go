package client

import (
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Sentinels are the sentinels by the codes of the protocol.
func Sentinels() map[wire.Code]error { return sentinels }

// Reads tells whether the client takes an operation for a read, and whether it knows it at all.
func Reads(op subjects.Operation) (reads, known bool) {
	h, known := operations[op]
	return h.repeat == read, known
}

// SelfFenced is selfFenced.
func SelfFenced(w wire.StoreWriteRequest) bool { return selfFenced(&w) }
