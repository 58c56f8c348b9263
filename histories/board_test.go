package histories_test

import (
	"strconv"
	"sync"

	"github.com/zlink/zlink-nats/wire"
)

// board is what the callers tell each other, so that many requests are about what is really there. It is never quite up to date.
type board struct {
	mu       sync.Mutex
	revision uint64                     // guarded by mu, as the rest; the latest seen in a reply
	tokens   map[string]wire.OwnerToken // of leases that are believed to be held
	old      []wire.OwnerToken          // that were
	objects  map[string]*wire.Authority // by text form; the latest record seen, nil when it is gone
	ages     map[string]uint64          // revision of what is in objects
	groups   groups
	cells    map[string]wire.Version               // of the opaque store
	nodes    map[wire.RID]*wire.MeshNodeDescriptor // the latest seen
}

func newBoard() *board {
	return &board{
		tokens: make(map[string]wire.OwnerToken), objects: make(map[string]*wire.Authority), ages: make(map[string]uint64),
		nodes:  make(map[wire.RID]*wire.MeshNodeDescriptor),
		cells:  make(map[string]wire.Version),
		groups: groups{all: make(map[wire.Fence]*group), states: make(map[*group]groupState)},
	}
}

func (b *board) seen() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision
}

func (b *board) token(owner string) (wire.OwnerToken, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.tokens[owner]
	return t, ok
}

// former are tokens whose lease was released.
func (b *board) former() []wire.OwnerToken {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.old
}

func (b *board) object(key string) *wire.Authority {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.objects[key]
}

func (b *board) node(rid wire.RID) *wire.MeshNodeDescriptor {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nodes[rid]
}

// learn takes in what a call was told.
func (b *board) learn(c *call) {
	if c.outcome != answered {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision = max(b.revision, c.revision)
	switch reply := c.reply.(type) {
	case *wire.LeaseClaimReply:
		b.hold(reply.Token)
	case *wire.LeaseReadReply:
		b.hold(reply.Token)
		if reply.Kind == wire.KindMissing {
			b.lose(b.tokens[c.request.(*wire.LeaseReadRequest).OwnerID])
		}
	case *wire.LeaseRenewReply:
		if reply.Kind == wire.KindStale {
			b.lose(c.request.(*wire.LeaseRenewRequest).Token)
		}
	case *wire.LeaseReleaseReply:
		b.lose(c.request.(*wire.LeaseReleaseRequest).Token)
	case *wire.UpdateReply:
		if r, ok := c.request.(*wire.MeshNodeUpdateRequest); ok && reply.Status == wire.StatusStored {
			d := r.Descriptor
			b.nodes[d.RID] = &d
		}
	case *wire.MeshNodeListReply:
		for _, n := range reply.Items {
			b.nodes[n.RID] = &n.MeshNodeDescriptor
		}
	}
	b.learnCells(c)
	if c.group != nil {
		b.learnGroup(c)
	}
	if key, a, ok := c.record(); ok {
		b.record(key, a, c.revision)
	}
}

func (b *board) hold(t *wire.OwnerToken) {
	if t != nil && b.tokens[t.OwnerID].LeaseGeneration < t.LeaseGeneration {
		b.tokens[t.OwnerID] = *t
	}
}

func (b *board) lose(t wire.OwnerToken) {
	if t.OwnerID == "" || b.tokens[t.OwnerID] != t {
		return
	}
	delete(b.tokens, t.OwnerID)
	if b.old = append(b.old, t); len(b.old) > 8 {
		b.old = b.old[1:]
	}
}

func (b *board) record(key string, a *wire.Authority, revision uint64) {
	if revision < b.ages[key] {
		return
	}
	b.objects[key], b.ages[key] = a, revision
}

// versionOf is a version as the number that it is to the service.
func versionOf(v wire.Version) uint64 {
	n, err := strconv.ParseUint(string(v), 10, 63)
	if err != nil {
		return 0
	}
	return n
}
