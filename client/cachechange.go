package client

import (
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/wire"
)

// listen looks at what is pushed until the cache is closed.
func (k *Cache[Key, Value]) listen() {
	for {
		select {
		case m := <-k.pushed:
			k.look(m)
		case <-k.ctx.Done():
			return
		}
	}
}

// look forgets what a change has outdated.
func (k *Cache[Key, Value]) look(m *nats.Msg) {
	p, err := placeOf(m.Header)
	k.mu.Lock()
	defer k.mu.Unlock()
	// The client library drops what does not fit. That can only have happened if the queue is full now.
	if err != nil || len(k.pushed) >= cap(k.pushed)-1 {
		k.dropAllLocked()
		return
	}
	k.c.saw(p.revision)
	if e, ok := k.entries[m.Subject]; ok {
		k.outdatedLocked(e, p.revision)
		return
	}
	if wire.ChangeType(m.Header.Get(wire.HeaderChange)) == wire.ChangeUpserted {
		return // a lease or node that comes ends nothing
	}
	for e := range k.holders[m.Subject] {
		k.outdatedLocked(e, p.revision)
	}
	for e := range k.reading { // whose answers may depend on it
		k.outdatedLocked(e, p.revision)
	}
}

// outdatedLocked forgets an answer that does not show a revision, also if it is still under way.
func (k *Cache[Key, Value]) outdatedLocked(e *entry[Key, Value], r wire.Revision) {
	e.changed = max(e.changed, r)
	if e.answer != nil && e.answer.revision < r {
		k.dropLocked(e)
	}
}
