package domain

import "github.com/zlink/zlink-nats/kvstore"

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
