package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// otherRows is how many rows there are that an operation has nothing to do with.
const otherRows = 200_000

// scaleSuite shows that operations on some rows do not pay for the others.
func scaleSuite() suite {
	const many = "200,000 other rows"
	return suite{
		name:  "scale",
		about: "owner.remove-all and object.list of 1,000 rows in a store with 200,000 other rows and with none",
		tables: []table{
			{
				title:      "Remove the 1,000 rows of an owner",
				maxCallers: 1, // each removal needs as many rows stored, and more callers would measure that
				subjects:   emptyAndFull(many, workload.OwnerRemoveAll),
				targets:    []load.Target{{Subject: many, Callers: 1, MaxP50: 1.5}},
			},
			{
				title:      "List the 1,000 objects of a type",
				maxCallers: 64,
				subjects:   emptyAndFull(many, workload.ObjectList),
				targets: []load.Target{
					{Subject: many, Callers: 1, MaxP50: 1.5},
					{Subject: many, Callers: 64, MaxP50: 1.5},
				},
			},
		},
	}
}

// emptyAndFull is an operation on a store without other rows and on one with many.
func emptyAndFull(many string, zlink workloadOf) func(context.Context, *peer.Group) ([]load.Subject, error) {
	full := filled(embedded(syncNowThen), otherRows, workload.StoreBallast)
	return each(on(embedded(syncNowThen), "no other rows", zlink), on(full, many, zlink))
}
