package client

import (
	"time"

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

// LookOften has x look after its stream when nothing has come for d.
func LookOften(x *Changes, d time.Duration) { x.idle = d }

// Position is the sequence of the first message that x has not looked at.
func Position(x *Changes) uint64 { return x.next }
