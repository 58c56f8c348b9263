package domain

import (
	"iter"
	"slices"
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
		type head struct {
			row  *kvstore.Row
			next func() (*kvstore.Row, bool)
		}
		var heads []head
		for _, part := range parts {
			next, stop := iter.Pull(part)
			defer stop()
			if r, ok := next(); ok {
				heads = append(heads, head{r, next})
			}
		}
		for len(heads) > 0 {
			least := 0
			for i := range heads {
				if heads[i].row.Key < heads[least].row.Key {
					least = i
				}
			}
			if !yield(heads[least].row) {
				return
			}
			r, ok := heads[least].next()
			if !ok {
				heads = slices.Delete(heads, least, least+1)
				continue
			}
			heads[least].row = r
		}
	}
}
