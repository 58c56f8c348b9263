package domain

import (
	"container/heap"
	"iter"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// objectRows lists the authorities of a kind, a type and a mesh that come after a
// row, in key order. An authority is in one place of the index, so that storing it
// costs little; a list that names no type or no mesh merges the places that match,
// of which there are few.
func objectRows(v kvstore.View, req *wire.ObjectListRequest, after kvstore.Key) iter.Seq[*kvstore.Row] {
	var parts []iter.Seq[*kvstore.Row]
	for value := range v.IndexValues(indexObject, objectPrefix(req)) {
		_, mesh, _ := strings.Cut(value[len(req.ObjectKind)+1:], kvstore.Separator)
		if req.MeshName == "" || req.MeshName == mesh {
			parts = append(parts, v.IndexAfter(indexObject, value, after))
		}
	}
	return merged(parts)
}

// objectPrefix begins the index values that a list may have to look at.
func objectPrefix(req *wire.ObjectListRequest) string {
	p := string(req.ObjectKind) + kvstore.Separator
	if req.StableType != "" {
		p += req.StableType + kvstore.Separator
	}
	return p
}

// merged lists the rows of several lists, each in key order, in key order.
func merged(parts []iter.Seq[*kvstore.Row]) iter.Seq[*kvstore.Row] {
	if len(parts) == 1 {
		return parts[0]
	}
	return func(yield func(*kvstore.Row) bool) {
		var m merge
		for _, part := range parts {
			next, stop := iter.Pull(part)
			defer stop()
			if r, ok := next(); ok {
				m = append(m, mergePart{r, next})
			}
		}
		heap.Init(&m)
		for len(m) > 0 && yield(m[0].row) {
			if r, ok := m[0].next(); ok {
				m[0].row = r
				heap.Fix(&m, 0)
			} else {
				heap.Pop(&m)
			}
		}
	}
}

// merge is a heap of lists by their first rows.
type merge []mergePart

type mergePart struct {
	row  *kvstore.Row
	next func() (*kvstore.Row, bool)
}

func (m *merge) Len() int           { return len(*m) }
func (m *merge) Less(i, j int) bool { return (*m)[i].row.Key < (*m)[j].row.Key }
func (m *merge) Swap(i, j int)      { (*m)[i], (*m)[j] = (*m)[j], (*m)[i] }
func (m *merge) Push(x any)         { *m = append(*m, x.(mergePart)) }

func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
