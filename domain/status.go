package domain

import "github.com/zlink/zlink-nats/kvstore"

// CountRows counts the stored rows of the service, without opaque ones, and the
// leases among them that are live.
func CountRows(v kvstore.View) (rows, leases int) {
	leases = v.Count(FamilyLease)
	rows = leases
	for family := range ownedFamilies {
		rows += v.Count(family)
	}
	for _, family := range objectFamilies {
		rows += v.Count(family)
	}
	return rows, leases
}
