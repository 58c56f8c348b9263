package domaintest_test

import (
	"fmt"
	"strconv"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// laws are what must hold after every commit, whatever was asked for.
type laws struct {
	// generations are the greatest that there were, of everything that has one, and
	// whether or not it is still there.
	generations map[string]wire.Generation
	// restored are the versions of records that were stored by authority.compare-exchange
	// with restore, which alone needs no live owner.
	restored map[wire.Version]bool
	latest   census // after the last commit
}

func newLaws() *laws {
	return &laws{generations: make(map[string]wire.Generation), restored: make(map[wire.Version]bool)}
}

// know takes in what a command has done.
func (l *laws) know(c command, a answer) {
	if r, ok := a.Reply.(*wire.AuthorityCompareExchangeReply); ok && r.Kind == wire.KindStored &&
		c.request.(*wire.AuthorityCompareExchangeRequest).Mutation.Kind == wire.AuthorityRestore {
		l.restored[r.StoreVersion] = true
	}
}

// check says what is wrong with a commit that was decided at an instant.
func (l *laws) check(commit *kvstore.Commit, now kvstore.Instant) error {
	before, err := l.latest, error(nil)
	if before.revision != commit.Before.Revision() || before.now != now {
		before, err = count(commit.Before.View(now))
	}
	if err != nil {
		return fmt.Errorf("before commit %d: %w", commit.Revision, err)
	}
	after, err := count(commit.After.View(now))
	if err != nil {
		return fmt.Errorf("after commit %d: %w", commit.Revision, err)
	}
	for _, law := range []func(before, after *census) error{
		oneAuthorityEach, sumsOfRows, withinLimits, l.generationsGrow, l.writtenByTheLiving, transfersGoOneWay,
	} {
		if err := law(&before, &after); err != nil {
			return fmt.Errorf("commit %d at %d: %w", commit.Revision, now, err)
		}
	}
	l.latest = after
	return nil
}

// oneAuthorityEach: there is at most one authority of each identity, and it belongs
// to one owner. 1.7
func oneAuthorityEach(_, after *census) error {
	last := ""
	for _, item := range after.objects {
		k, err := wire.ParseObjectKey(item.Key)
		switch a := &item.Snapshot; {
		case err != nil:
			return err
		case item.Key != a.Key || item.Key <= last:
			return fmt.Errorf("%s with the record of %s after %s", item.Key, a.Key, last)
		case k.IsSpot() != (a.Allocation.ObjectKind != wire.ObjectActor):
			return fmt.Errorf("%s is %s", item.Key, a.Allocation.ObjectKind)
		}
		last = item.Key
	}
	return nil
}

// sumsOfRows: a node's counters are the sums over its authorities. 1.10
func sumsOfRows(_, after *census) error {
	for i := range after.nodes {
		n := &after.nodes[i]
		taken := after.taken(wire.DescriptorKey{MeshName: n.MeshName, RID: n.RID})
		for _, c := range countsOf(n) {
			if shown := (use{c.shown.Active, c.shown.Reserved}); shown != taken[c.what] {
				return fmt.Errorf("%s of node %q: %+v shown, %+v taken", c.what, n.RID, shown, taken[c.what])
			}
		}
	}
	return nil
}

// withinLimits: nothing grows beyond a limit. It may be beyond one already, when the
// descriptor was stored anew with a lower one. 1.10
func withinLimits(before, after *census) error {
	for i := range after.nodes {
		n := &after.nodes[i]
		k := wire.DescriptorKey{MeshName: n.MeshName, RID: n.RID}
		had := before.node(k)
		if had == nil || had.Generation != n.Generation {
			continue
		}
		was, is := before.taken(k), after.taken(k)
		limits := make(map[string]uint32)
		for _, c := range countsOf(n) {
			limits[c.what] = c.shown.Limit
		}
		for what, u := range is {
			limit, ok := limits[what]
			total := u.active + u.reserved
			if grown := total > was[what].active+was[what].reserved; grown && (!ok || limit != 0 && total > limit) {
				return fmt.Errorf("%d %s on node %q, limit %d (listed: %t), before %+v", total, what, n.RID, limit, ok, was[what])
			}
		}
	}
	return nil
}

// generationsGrow: no generation is ever given twice or goes back.
func (l *laws) generationsGrow(before, after *census) error {
	grow := func(name string, g, had wire.Generation) error { return l.grow(name, g, had, before.revision) }
	for owner, t := range after.leases {
		if err := grow("lease "+owner, t.LeaseGeneration, before.leases[owner].LeaseGeneration); err != nil {
			return err
		}
	}
	for k, r := range after.rows {
		if err := grow(string(k), r.generation, before.rows[k].generation); err != nil {
			return err
		}
	}
	for i := range after.objects {
		a := &after.objects[i].Snapshot
		var had wire.Authority
		if prior := before.object(a.Key); prior != nil {
			had = *prior
		}
		if err := grow(a.Key, a.ObjectGeneration, had.ObjectGeneration); err != nil {
			return err
		}
		if err := grow("owner of "+a.Key, a.AuthorityOwnerGeneration, had.AuthorityOwnerGeneration); err != nil {
			return err
		}
		if a.AuthorityOwnerGeneration < a.ObjectGeneration {
			return fmt.Errorf("%s: generation %d of the owner before %d of the object", a.Key, a.AuthorityOwnerGeneration, a.ObjectGeneration)
		}
	}
	return nil
}

// grow notes the generation of something that had another before the commit, or the
// same, or none. One that begins is the revision of its row.
func (l *laws) grow(name string, g, had wire.Generation, before kvstore.Revision) error {
	begins := g != had
	if latest := l.generations[name]; g < latest || begins && (g == latest || kvstore.Revision(g) <= before) {
		return fmt.Errorf("%q: generation %d after %d, in a commit after %d", name, g, latest, before)
	}
	l.generations[name] = g
	return nil
}

// writtenByTheLiving: what a commit stores belongs to an owner whose lease was live
// when it was decided. 1.4, 3.2, 4, 5.3, 6
func (l *laws) writtenByTheLiving(before, after *census) error {
	check := func(name string, v wire.Version, t wire.OwnerToken) error {
		rev, err := strconv.ParseUint(string(v), 10, 63)
		if err != nil {
			return err
		}
		if kvstore.Revision(rev) > before.revision && before.leases[t.OwnerID] != t && !l.restored[v] {
			return fmt.Errorf("%q was stored as version %s by %+v, live is %+v", name, v, t, before.leases[t.OwnerID])
		}
		return nil
	}
	for k, r := range after.rows {
		if err := check(string(k), r.Version, r.token); err != nil {
			return err
		}
	}
	for i := range after.objects {
		a := &after.objects[i].Snapshot
		if err := check(a.Key, a.StoreVersion, ownerOf(a)); err != nil {
			return err
		}
	}
	return nil
}
