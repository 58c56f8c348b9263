package domaintest_test

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// groupCommands are the operations on aggregates.
var groupCommands = []weighed{
	{8, (*client).prepareInline},
	{4, (*client).stageGroup},
	{4, (*client).prepareStaged},
	{6, (*client).commitGroup},
	{1, (*client).abortGroup},
	{2, (*client).findGroup},
	{2, func(*client) command { return working() }},
}

// groupIDs are few, so that requests about aggregates meet.
var groupIDs = []string{"g1", "g2", "g:3"}

// fence is the latest generation of an aggregate, or now and then the next.
func (c *client) fence(next bool) wire.Fence {
	id := pick(c, groupIDs...)
	if c.generation[id] == 0 || next && !c.once(3) {
		c.generation[id]++
	}
	return wire.Fence{AggregateID: id, AggregateGeneration: c.generation[id]}
}

// makeUp makes up an aggregate of a few objects.
func (c *client) makeUp(f wire.Fence) *group {
	g := &group{fence: f, target: c.target()}
	chosen := make(map[string]bool)
	among := pick(c, objects, objects[:4], objects[:4], objects[:6]) // spots of different types have no sum
	for range 1 + c.roll(4) {
		k := c.key(wire.AllocationActive, among...)
		a := c.object(k)
		if a == nil || chosen[k.Text()] {
			continue
		}
		chosen[k.Text()] = true
		shown := bare(a)
		shown.StoreVersion = c.version(k)
		if c.once(4) {
			g.stays(&shown, nil)
		} else {
			g.moves(&shown)
		}
		if p := &g.all[len(g.all)-1]; !k.IsSpot() && c.once(3) {
			p.Membership = c.membership()
		}
	}
	g.sort()
	if c.once(8) {
		g.capacity.Actors++
	}
	c.groups[f] = g
	return g
}

func (c *client) prepareInline() command {
	f := c.fence(true)
	g := c.groups[f]
	if g == nil || !c.once(6) {
		g = c.makeUp(f)
	}
	if len(g.all) == 0 {
		return c.placeObject()
	}
	return g.prepare(true)
}

// stageGroup stages a part of a group.
func (c *client) stageGroup() command {
	f := c.fence(c.once(2))
	g := c.groups[f]
	if g == nil {
		g = c.makeUp(f)
	}
	if len(g.all) == 0 {
		return c.placeObject()
	}
	from := c.roll(len(g.all))
	if c.once(2) {
		from = 0
	}
	return g.stage(from, from+1+c.roll(len(g.all)-from))
}

func (c *client) prepareStaged() command {
	g := c.groups[c.fence(false)]
	if g == nil || len(g.all) == 0 {
		return c.stageGroup()
	}
	return g.prepare(false)
}

func (c *client) commitGroup() command {
	if f, ok := c.prepared(); ok && !c.once(4) {
		return committingGroup(f)
	}
	return committingGroup(c.fence(false))
}

// prepared is an aggregate that locks an object; false when there is none.
func (c *client) prepared() (wire.Fence, bool) {
	for i := range c.seen.objects {
		k, _ := wire.ParseObjectKey(c.seen.objects[i].Key)
		r, err := domain.FindAggregate(c.view, &wire.AggregateFindRequest{Key: k})
		if err != nil {
			c.fail("%v", err)
		}
		if r.Kind == wire.KindFound && r.Aggregate.State == wire.AggregatePrepared {
			return r.Aggregate.Fence, true
		}
	}
	return wire.Fence{}, false
}

func (c *client) abortGroup() command { return abortingGroup(c.fence(false)) }

func (c *client) findGroup() command {
	return asking("aggregate.find", domain.ValidateAggregateFind, domain.FindAggregate,
		&wire.AggregateFindRequest{Key: c.key(wire.AllocationActive, objects...)})
}
