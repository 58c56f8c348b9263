package domain

import "github.com/zlink/zlink-nats/kvstore"

// CountRows counts the stored rows of the service, without opaque ones, and the
// leases among them that are live.
//
// Cost: proportional to the rows counted.
func CountRows(v kvstore.View) (rows, leases int) {
	for range v.Scan(kvstore.Prefix(FamilyLease), "") {
		leases++
	}
	rows = leases
	for family := range ownedFamilies {
		for range v.Scan(kvstore.Prefix(family), "") {
			rows++
		}
	}
	return rows, leases
}
