package domain

import "github.com/zlink/zlink-nats/kvstore"

// UnreadableRows returns the keys of rows that nobody can read, at most so many. Leases, terminals, abort marks and transfers are
// not among them: nothing is concluded from rows of theirs that were not asked for by key. It costs what it returns.
func UnreadableRows(v kvstore.View, most int) (keys []kvstore.Key) {
	seen := make(map[kvstore.Key]bool)
	for _, index := range []string{indexOwner, indexHolder, indexWork, indexTakesPart} {
		for r := range v.Index(index, unreadableValue) {
			if len(keys) == most {
				return keys
			}
			if !seen[r.Key] {
				seen[r.Key] = true
				keys = append(keys, r.Key)
			}
		}
	}
	return keys
}
