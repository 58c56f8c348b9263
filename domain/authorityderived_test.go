package domain_test

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// derived is what the store keeps besides rows: the keys under each value of the
// indexes of authorities and aggregates, and sums.
type derived struct {
	index map[[2]string][]kvstore.Key
	sums  map[string]int64
}

func newDerived() *derived {
	return &derived{map[[2]string][]kvstore.Key{}, map[string]int64{}}
}

// scanned derives everything from the rows alone.
func scanned(v kvstore.View) *derived {
	d := newDerived()
	for r := range v.Scan(kvstore.Prefix(domain.FamilyAuthority), "") {
		body, err := domain.DecodeAuthority(r)
		if err != nil {
			d.list("holder", "", r.Key)
			continue
		}
		d.add(r.Key, body.(domain.AuthorityRecord))
	}
	for r := range v.Scan(kvstore.Prefix(domain.FamilyAggregate), "") {
		d.addAggregate(r)
	}
	for r := range v.Scan(kvstore.Prefix(domain.FamilyInventory), "") {
		keys, err := domain.ParticipantsOf(r)
		if err != nil {
			keys = []string{""}
		}
		for _, k := range keys {
			d.list("takes-part", k, r.Key)
		}
	}
	for r := range v.Scan(kvstore.Prefix(domain.FamilyParticipant), "") {
		d.sums[string(r.Key[:strings.LastIndexByte(string(r.Key), 0)])]++ // by fence
		k, err := domain.StagedKeyOf(r)
		if err != nil {
			k = ""
		}
		d.list("takes-part", k, r.Key)
	}
	return d
}

// addAggregate is 8.4: what is prepared for a node counts in reserved.
func (d *derived) addAggregate(r *kvstore.Row) {
	node, c, prepared, err := domain.HeadroomOf(r)
	if err != nil {
		d.list("holder", "", r.Key)
		d.list("work", "", r.Key)
		return
	}
	if at, ok := domain.DueOf(r); ok {
		d.list("work", string(binary.BigEndian.AppendUint64(nil, uint64(at))), r.Key)
	}
	if prepared {
		d.take(c, wire.AllocationReserved, node)
	}
}

func (d *derived) list(index, value string, k kvstore.Key) {
	d.index[[2]string{index, value}] = append(d.index[[2]string{index, value}], k)
}

func (d *derived) add(k kvstore.Key, rec domain.AuthorityRecord) {
	generation := func(g wire.Generation) string {
		return "\x00" + string(binary.BigEndian.AppendUint64(nil, uint64(g)))
	}
	at := rec.Allocation
	d.list("holder", rec.OwnerID+generation(rec.OwnerLeaseGeneration), k)
	d.list("object", fmt.Sprintf("%s\x00%s\x00%s", at.ObjectKind, at.StableType, at.Descriptor.MeshName), k)
	if m := rec.Membership; m != nil && m.SpotKind == wire.MembershipUser {
		d.list("member", m.SpotID+generation(m.SpotGeneration), k)
	}
	d.take(at.Capacity, at.State, at.Descriptor)
}

// take counts a vector at a node.
func (d *derived) take(c wire.Capacity, state wire.AllocationState, at wire.DescriptorKey) {
	node := fmt.Sprintf("%s\x00%s\x00%s", state, at.MeshName, string(at.RID))
	d.sums["actors\x00\x00"+node] += int64(c.Actors)
	d.sums["spots\x00\x00"+node] += int64(c.Spots)
	if t := c.SpotType; t != nil {
		d.sums[fmt.Sprintf("%s\x00%s\x00%s", t.ObjectKind, t.StableType, node)] += int64(t.Count)
	}
}

// remember keeps what was there once: it has to be gone again with the rows.
func (d *derived) remember(now *derived) {
	for at := range now.index {
		d.index[at] = nil
	}
	for name := range now.sums {
		d.sums[name] = 0
	}
}

// wantDerived requires that the store keeps exactly what follows from its rows.
func wantDerived(t tb, v kvstore.View, once *derived) {
	t.Helper()
	now := scanned(v)
	once.remember(now)
	index := map[[2]string][]kvstore.Key{}
	for _, name := range []string{"holder", "object", "member", "work", "takes-part"} {
		n := 0
		for value := range v.IndexValues(name, "") {
			keys := rowKeys(v.Index(name, value))
			index[[2]string{name, value}] = keys
			n += len(keys)
		}
		want(t, len(rowKeys(v.IndexPrefix(name, ""))), n)
	}
	want(t, index, now.index)
	for name := range once.sums {
		want(t, v.Sum(name), now.sums[name])
	}
	want(t, v.Count(domain.FamilyAuthority), len(rowKeys(v.Scan(kvstore.Prefix(domain.FamilyAuthority), ""))))
}

// checkDerived is for worlds whose rows can all be read.
func (w *world) checkDerived() {
	w.t.Helper()
	loaded := w.reloaded()
	for _, v := range []kvstore.View{w.view(), loaded} {
		wantDerived(w.t, v, w.once)
	}
	items, _, err := domain.ListAuthorities(loaded, &wire.AuthorityListRequest{Limit: 1000}, "", domain.Page{Items: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	want(w.t, items, w.snapshots())
}

func rowKeys(rows func(func(*kvstore.Row) bool)) (keys []kvstore.Key) {
	for r := range rows {
		keys = append(keys, r.Key)
	}
	return keys
}
