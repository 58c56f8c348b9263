package client

import (
	"container/list"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/wire"
)

// entry is a key that the cache knows. Its subscription lives as long.
type entry[Key, Value any] struct {
	key     Key
	subject string
	place   *list.Element
	sub     *nats.Subscription // written by the read that is under way

	answer  *answer[Value] // nil when there is none
	flight  *flight[Value] // nil when no read is under way
	changed wire.Revision  // an answer shows at least this one
	doubts  uint64         // counts what makes an answer that is under way useless whatever its revision
	leader  bool           // the next answer has to show everything
}

// flight is a read that callers wait for.
type flight[Value any] struct {
	done   chan struct{} // closed when the rest is there
	answer *answer[Value]
	err    error
}

// fly reads the answer for an entry, and again while what it got was outdated when it came.
func (k *Cache[Key, Value]) fly(e *entry[Key, Value]) {
	for try := 1; ; try++ {
		k.mu.Lock()
		doubts, c := e.doubts, k.c
		if e.leader {
			c = k.c.Leader()
		}
		k.mu.Unlock()
		a, err := k.read(e, c)
		k.mu.Lock()
		k.checkConnectionLocked()
		current := err == nil && e.doubts == doubts && a.revision >= e.changed
		if current {
			k.keepLocked(e, a)
		}
		if current || err != nil || try == cacheReads {
			k.landLocked(e, a, err)
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
	}
}

// read subscribes to the changes of an entry, if that was not done, and reads it afterwards: both go over one connection, so that no
// change falls between the two.
func (k *Cache[Key, Value]) read(e *entry[Key, Value], c *Client) (*answer[Value], error) {
	if e.sub == nil {
		sub, err := k.conn.ChanSubscribe(e.subject, k.pushed)
		if err != nil {
			return nil, fmt.Errorf("subscribe to %s: %w", e.subject, err)
		}
		e.sub = sub
	}
	began := time.Now()
	a, err := k.source.read(k.ctx, c, e.key)
	if err != nil {
		return nil, err
	}
	a.began = began
	return a, nil
}

// landLocked tells the callers that wait.
func (k *Cache[Key, Value]) landLocked(e *entry[Key, Value], a *answer[Value], err error) {
	if err != nil && k.ctx.Err() != nil {
		err = ErrCacheClosed
	}
	f := e.flight
	e.flight = nil
	delete(k.reading, e)
	f.answer, f.err = a, err
	close(f.done)
}

func (k *Cache[Key, Value]) keepLocked(e *entry[Key, Value], a *answer[Value]) {
	k.dropLocked(e)
	e.answer, e.leader = a, false
	for _, subject := range a.depends {
		if k.holders[subject] == nil {
			k.holders[subject] = make(map[*entry[Key, Value]]struct{})
		}
		k.holders[subject][e] = struct{}{}
	}
}

// dropLocked forgets the answer of an entry.
func (k *Cache[Key, Value]) dropLocked(e *entry[Key, Value]) {
	if e.answer == nil {
		return
	}
	for _, subject := range e.answer.depends {
		if delete(k.holders[subject], e); len(k.holders[subject]) == 0 {
			delete(k.holders, subject)
		}
	}
	e.answer = nil
}

// evictLocked forgets the entries not used for longest that are too many. Those that are being read stay.
func (k *Cache[Key, Value]) evictLocked() (subs []*nats.Subscription) {
	for at := k.used.Back(); at != nil && len(k.entries) > k.o.MaxEntries; {
		e := at.Value.(*entry[Key, Value])
		at = at.Prev()
		if e.flight != nil {
			continue
		}
		k.dropLocked(e)
		k.used.Remove(e.place)
		delete(k.entries, e.subject)
		subs = append(subs, e.sub)
	}
	return subs
}

// checkConnectionLocked forgets everything if the connection was lost since the last time: changes may have been missed.
func (k *Cache[Key, Value]) checkConnectionLocked() {
	if n := k.conn.Stats().Reconnects; n != k.reconnects {
		k.reconnects = n
		k.dropAllLocked()
	}
}

// dropAllLocked forgets all answers, those that are under way as well.
func (k *Cache[Key, Value]) dropAllLocked() {
	for _, e := range k.entries {
		k.dropLocked(e)
		e.doubts++
	}
}
