package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// ErrNotDrained is why [Runtime.Drain] gives up: there were objects left when its time was over.
var ErrNotDrained = errors.New("not drained")

// Drain has the directory give nothing more to the host: every descriptor is published as draining, and the rows of its peers as
// well, each on its own. Then it waits until no object counts on the nodes of the host any more, active or reserved, or until ctx
// ends, which is [ErrNotDrained]. Moving the objects away is up to the host. What could not be published for now is published with
// the next heartbeats; those errors are returned when the wait is over, with or without the objects gone.
func (r *Runtime) Drain(ctx context.Context) error {
	var errs []error
	for _, d := range r.descriptors() {
		errs = append(errs, r.publish(ctx, d.in(wire.StateDraining)))
	}
	errs = append(errs, r.drainPeers(ctx))
	return errors.Join(append(errs, r.awaitEmpty(ctx))...)
}

// drainPeers sets draining on the rows of peers that do not have it.
func (r *Runtime) drainPeers(ctx context.Context) error {
	var errs []error
	for key, t := range r.ownPeers() {
		p := newPeer(t.row.(peer).p)
		if p.p.Draining && !t.other {
			continue
		}
		p.p.Draining = true
		if _, err := r.put(ctx, p, AutoIntent); err != nil {
			r.mu.Lock()
			if t := r.rows[KindPeer][key]; t != nil {
				t.row, t.other = p, true // whoever writes it next does it like this
			}
			r.mu.Unlock()
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *Runtime) ownPeers() map[Key]tracked {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := make(map[Key]tracked, len(r.rows[KindPeer]))
	for key, t := range r.rows[KindPeer] {
		own[key] = *t
	}
	return own
}

func (r *Runtime) descriptors() []descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []descriptor
	for _, p := range r.published {
		if p.wish != nil {
			list = append(list, p.wish)
		}
	}
	return list
}

// awaitEmpty waits until no object counts on the host's nodes.
func (r *Runtime) awaitEmpty(ctx context.Context) error {
	var why error
	for {
		objects, err := r.Usage(ctx)
		switch {
		case err == nil && objects == 0:
			return nil
		case err == nil:
			why = fmt.Errorf("%d objects are left", objects)
		case why == nil:
			why = err
		}
		_ = r.drainPeers(ctx) // those that failed; Drain has told so
		t := time.NewTimer(r.o.PollInterval)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%w: %w", ErrNotDrained, why)
		}
	}
}

// Usage is how many objects count on the nodes of the host, active or reserved, as the directory knows them.
func (r *Runtime) Usage(ctx context.Context) (objects int, err error) {
	meshes := make(map[string]map[wire.RID]bool)
	for _, d := range r.descriptors() {
		if n, ok := d.(meshNode); ok {
			if meshes[n.d.MeshName] == nil {
				meshes[n.d.MeshName] = make(map[wire.RID]bool)
			}
			meshes[n.d.MeshName][n.d.RID] = true
		}
	}
	for mesh, own := range meshes {
		request := wire.MeshNodeListRequest{MeshName: mesh, PageRequest: wire.PageRequest{PageSize: authorityPage}}
		for item, err := range r.o.Client.MeshNodes.All(ctx, request) {
			r.asked(OpRead, err)
			if err != nil {
				return 0, fmt.Errorf("list mesh nodes of %q: %w", mesh, err)
			}
			if own[item.RID] && item.OwnerID == r.o.OwnerID {
				objects += populationOf(item.PopulationCapacity)
			}
		}
	}
	return objects, nil
}

// populationOf counts objects. A spot counts among all spots, for its type, or both.
func populationOf(c wire.PopulationCapacity) int {
	spots, ofTypes := c.Spots.Active+c.Spots.Reserved, uint32(0)
	for _, t := range c.SpotTypes {
		ofTypes += t.Active + t.Reserved
	}
	return int(c.Actors.Active+c.Actors.Reserved) + int(max(spots, ofTypes))
}
