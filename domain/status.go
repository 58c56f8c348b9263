package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// CountRows counts the stored rows of the service, without opaque ones, and the
// leases among them that are live.
func CountRows(v kvstore.View) (rows, leases int) {
	families := v.Families()
	leases = families[FamilyLease].Live
	rows = leases
	for family := range ownedFamilies {
		rows += families[family].Live
	}
	for _, family := range objectFamilies {
		rows += families[family].Live
	}
	return rows, leases
}

// AggregatesUnderWay counts the aggregates that are not done with, by what is to become of
// them. It costs their number.
func AggregatesUnderWay(v kvstore.View) (c wire.AggregateCounts) {
	for r := range v.IndexPrefix(indexWork, "") {
		a, err := kvstore.Decoded(r, decodeAggregate)
		switch {
		case err != nil:
			c.Unreadable++
			continue
		case a.Deadline == 0:
			c.Settling++
			if at := wire.Revision(a.Commit); at != 0 && (c.OldestCommit == 0 || at < c.OldestCommit) {
				c.OldestCommit = at
			}
			continue
		case kvstore.Instant(a.Deadline) <= v.Now():
			c.Overdue++
		case a.is(wire.AggregatePrepared):
			c.Prepared++
		default:
			c.Collecting++
		}
		if c.OldestDeadline == 0 { // the index is in the order of deadlines
			c.OldestDeadline = a.Deadline
		}
	}
	return c
}
