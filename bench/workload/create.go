package workload

import "crypto/rand"

// nodes is how many nodes share the objects that a workload creates.
const nodes = 8

// counterBytes is the size of a row that counts or points.
const counterBytes = 50

// creator is a caller of "create object" on a store that has rows with versions and nothing else. It reserves an object,
// commits it, and goes on with the next one on the next node.
type creator struct {
	run      string // unlike that of any earlier workload, whose objects are still there
	caller   int
	begun    int          // objects before the one at hand
	reserved int64        // version of the reservation at hand; 0 when there is none
	counted  [nodes]int64 // versions of the caller's counters of each node
}

// newCreators makes the callers of a workload.
func newCreators(callers int) []creator {
	run := rand.Text()[:8]
	all := make([]creator, callers)
	for i := range all {
		all[i].run, all[i].caller = run, i
	}
	return all
}

// condition is a version that a row must have; 0 means that there must be none.
type condition struct {
	key     string
	version int64
}

// creationPut is a row that is written; of counterBytes unless it is the object.
type creationPut struct {
	key    string
	object bool
}

func (c *creator) node() int { return c.begun % nodes }

func (c *creator) nodeCounter(node int) string { return key("node-count", c.caller, node) }

func (c *creator) typeCounter(node int) string { return key("type-count", c.caller, node) }

// object is the key of the row of the object at hand, the others those that a store of rows needs with it.
func (c *creator) object() string    { return key("object/"+c.run, c.caller, c.begun) }
func (c *creator) entrySpot() string { return key("entry/"+c.run, c.caller, c.begun) }
func (c *creator) index() string     { return key("index/"+c.run, c.caller, c.begun) }

// conditions are those of the next transaction; nodeRows is the version of all leases and descriptors.
func (c *creator) conditions(nodeRows int64) [6]condition {
	n := c.node()
	sixth := condition{c.entrySpot(), 0} // the object's id is no entry spot
	if c.reserved != 0 {
		sixth = condition{c.index(), c.reserved}
	}
	return [6]condition{
		{leaseKey(n), nodeRows},
		{descriptorKey(n), nodeRows},
		{c.object(), c.reserved},
		{c.nodeCounter(n), c.counted[n]},
		{c.typeCounter(n), c.counted[n]},
		sixth,
	}
}

// puts are the rows that the next transaction writes.
func (c *creator) puts() [4]creationPut {
	n := c.node()
	return [4]creationPut{
		{key: c.object(), object: true},
		{key: c.nodeCounter(n)},
		{key: c.typeCounter(n)},
		{key: c.index()},
	}
}

// wrote notes the version of the transaction that was done.
func (c *creator) wrote(version int64) {
	c.counted[c.node()] = version
	if c.reserved == 0 {
		c.reserved = version
		return
	}
	c.reserved = 0
	c.begun++
}

// The rows of a node, which all callers share and only read.
func leaseKey(node int) string      { return key("node-lease", 0, node) }
func descriptorKey(node int) string { return key("node-row", 0, node) }
