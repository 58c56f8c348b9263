package workload

import "github.com/zlink/zlink-nats/bench/load"

// ErrConflict lets tests tell a lost condition from a broken peer.
var ErrConflict = errConflict

// ConditionalRows returns the keys of the rows on which the next operation of caller 0 of a "create object" depends.
func ConditionalRows(w load.Workload) (keys []string) {
	var c *creator
	switch w := w.(type) {
	case *etcdCreate:
		c = &w.callers[0]
	case *redisCreate:
		c = &w.callers[0]
	}
	for _, condition := range c.conditions(0) {
		keys = append(keys, condition.key)
	}
	return keys
}
