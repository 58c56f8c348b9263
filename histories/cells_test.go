package histories_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// cells are the keys of the opaque store that callers write, in one commit or each alone.
type cells [2]cell

// cell is one key in the model. No event tells of it, so that the version that a write of unknown outcome gave it is not known
// before somebody reads it, which nobody does who is not of this history.
type cell struct {
	value   string // "": the key is missing
	version uint64 // 0: not known
	floor   uint64 // no version up to this one comes any more
}

// keyOfCell is the key of a cell.
func keyOfCell(i int) wire.Bytes { return fmt.Appendf(nil, "k%d", i) }

func cellOf(key wire.Bytes) int { return int(key[1] - '0') }

// storeActions write only what is as the caller believes, so that a write of unknown outcome cannot happen at any time.
var storeActions = []action{
	{subjects.StoreRead, 4, false, func(c *caller) any { return &wire.StoreReadRequest{Key: keyOfCell(c.IntN(len(cells{})))} }},
	{subjects.StoreWrite, 6, true, func(c *caller) any {
		r := &wire.StoreWriteRequest{}
		first, n := c.IntN(len(cells{})), 1+c.IntN(len(cells{}))
		for i := range n {
			k := keyOfCell((first + i) % len(cells{}))
			condition := wire.StoreCondition{Kind: wire.ConditionMissing, Key: k}
			if v := c.board.version(string(k)); v != "" {
				condition.Kind, condition.Expected = wire.ConditionVersion, v
			}
			r.Conditions = append(r.Conditions, condition)
			m := wire.StoreMutation{Kind: wire.MutationPut, Key: k, Bytes: c.tag()}
			if c.once(4) {
				m = wire.StoreMutation{Kind: wire.MutationDelete, Key: k}
			}
			r.Mutations = append(r.Mutations, m)
		}
		return r
	}},
}

// version is that of a key of the opaque store as it was seen last; empty when the key is missing.
func (b *board) version(key string) wire.Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cells[key]
}

// learnCells takes in what a call was told of the opaque store.
func (b *board) learnCells(c *call) {
	switch r := c.request.(type) {
	case *wire.StoreReadRequest:
		if key := string(r.Key); c.revision >= b.ages[key] {
			b.cells[key], b.ages[key] = c.reply.(*wire.StoreReadReply).Version, c.revision
		}
	case *wire.StoreWriteRequest:
		reply := c.reply.(*wire.StoreWriteReply)
		if reply.Kind != wire.KindApplied {
			return
		}
		for _, m := range r.Mutations {
			b.cells[string(m.Key)], b.ages[string(m.Key)] = "", c.revision
		}
		for _, v := range reply.PutVersions {
			b.cells[string(v.Key)] = v.Version
		}
	}
}

var storeModel = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{cells{}} },
	Step:              func(state, input, _ any) []any { return anys(state.(cells).step(input.(*call))) },
	DescribeOperation: func(input, _ any) string { return input.(*call).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// step are the states in which the keys can be after a call that was answered as it was; there is none if they cannot be.
func (s cells) step(c *call) []cells {
	switch r := c.request.(type) {
	case *wire.StoreReadRequest:
		return s.read(cellOf(r.Key), c.reply.(*wire.StoreReadReply))
	case *wire.StoreWriteRequest:
		if c.outcome == unknown {
			return append(s.write(r, make([]wire.PutVersion, len(r.Mutations))), s)
		}
		reply := c.reply.(*wire.StoreWriteReply)
		if reply.Kind == wire.KindConflict {
			return s.only(!s.meets(r))
		}
		return s.write(r, reply.PutVersions)
	}
	return nil
}

func (s cells) read(i int, r *wire.StoreReadReply) []cells {
	k := &s[i]
	v := versionOf(r.Version)
	if r.Kind == wire.KindMissing {
		return s.only(k.value == "")
	}
	if k.version == 0 && v > k.floor {
		k.version, k.floor = v, v
	}
	return s.only(k.value == string(r.Bytes) && k.version == v)
}

// meets tells whether all conditions of a write hold. One on a version that nobody has read does not.
func (s cells) meets(r *wire.StoreWriteRequest) bool {
	for _, c := range r.Conditions {
		k := s[cellOf(c.Key)]
		if c.Kind == wire.ConditionMissing && k.value != "" ||
			c.Kind == wire.ConditionVersion && (k.value == "" || k.version != versionOf(c.Expected)) {
			return false
		}
	}
	return true
}

// write are the keys after a write that gave these versions.
func (s cells) write(r *wire.StoreWriteRequest, versions []wire.PutVersion) []cells {
	if !s.meets(r) {
		return nil
	}
	for _, m := range r.Mutations {
		k := &s[cellOf(m.Key)]
		k.value, k.version = string(m.Bytes), 0
		if m.Kind == wire.MutationDelete {
			continue
		}
		if k.version = versionOf(versions[0].Version); k.version > 0 {
			if k.version <= k.floor {
				return nil
			}
			k.floor = k.version
		}
		versions = versions[1:]
	}
	return []cells{s}
}

func (s cells) only(holds bool) []cells {
	if holds {
		return []cells{s}
	}
	return nil
}
