package workload

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/wire"
)

// room is the type of the objects that are created.
const room = "room"

// creation is what a caller creates: one object after the other.
type creation struct {
	fleet   []wire.Target // shared by all callers
	begun   int           // objects before the one at hand
	pending *reservation  // the one at hand, once it is reserved
}

func newCreation(ctx context.Context, nc *nats.Conn, name string) (creation, error) {
	fleet, err := newFleet(ctx, nc, name, room)
	return creation{fleet: fleet}, err
}

// ObjectCreate returns "create object" on the service reached at urls, on one node after the other.
func ObjectCreate(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, shared(newCreation), func(ctx context.Context, c *serviceCaller[creation]) error {
		return create(ctx, c, func(id string) (*reservation, error) {
			return reserve(ctx, c.Conn, id, room, c.rows.fleet[c.rows.begun%nodes])
		})
	})
}

// ObjectPlace returns "create object" on the service reached at urls, which chooses the nodes.
func ObjectPlace(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, shared(newCreation), func(ctx context.Context, c *serviceCaller[creation]) error {
		return create(ctx, c, func(id string) (*reservation, error) {
			return place(ctx, c.Conn, id, room, c.rows.fleet[0].MeshName)
		})
	})
}

// create reserves an object, or commits the one that is reserved.
func create(ctx context.Context, c *serviceCaller[creation], reserve func(id string) (*reservation, error)) (err error) {
	if r := c.rows.pending; r != nil {
		c.rows.pending = nil
		return r.commit(ctx, c.Conn)
	}
	c.rows.begun++
	c.rows.pending, err = reserve(fmt.Sprintf("%s-%d", c.name, c.rows.begun))
	return err
}
