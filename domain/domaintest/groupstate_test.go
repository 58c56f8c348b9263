package domaintest_test

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/wire"
)

// derived is everything that a store keeps besides rows, and how its rows read: what two
// instances have to agree on, however they came to know it.
type derived struct {
	Rows   []string
	Reads  map[kvstore.Key]string // authorities, or what is said of lost ones
	Index  map[string][]kvstore.Key
	Sums   map[string]int64
	Stamps map[string]kvstore.Revision
}

// derivedIn looks at all that a state holds.
func derivedIn(v kvstore.View) derived {
	d := derived{
		Rows: kvtest.Dump(v.State()), Reads: make(map[kvstore.Key]string), Index: make(map[string][]kvstore.Key),
		Sums: make(map[string]int64), Stamps: make(map[string]kvstore.Revision),
	}
	for r := range v.Scan(kvstore.Prefix(domain.FamilyAuthority), "") {
		d.Reads[r.Key] = readsAs(v, r.Key) + fmt.Sprintf(", overlaid %t", r.Over != nil)
	}
	for _, name := range []string{"owner", "entry-spot", "holder", "object", "member", "work", "takes-part"} {
		for value := range v.IndexValues(name, "") {
			for r := range v.Index(name, value) {
				d.Index[name+" "+value] = append(d.Index[name+" "+value], r.Key)
			}
		}
	}
	d.addSums(v)
	for _, kind := range []wire.StampKind{wire.StampAuthority, wire.StampOwnerLease, wire.StampMeshNode} {
		d.Stamps[string(kind)] = v.Stamp(string(kind))
	}
	return d
}

// addSums looks at the sums that there may be: of nodes and of staged participants.
func (d *derived) addSums(v kvstore.View) {
	add := func(parts ...string) {
		name := strings.Join(parts, kvstore.Separator)
		if n := v.Sum(name); n != 0 {
			d.Sums[name] = n
		}
	}
	for _, k := range nodes {
		for _, state := range []string{"active", "reserved"} {
			for _, what := range [][2]string{{"actors", ""}, {"spots", ""}, {"userSpot", "room"}, {"userSpot", "hall"}, {"instanceSpot", "chat"}} {
				add(what[0], what[1], state, k.MeshName, string(k.RID))
			}
		}
	}
	for r := range v.Scan(kvstore.Prefix(domain.FamilyAggregate), "") {
		s := r.Key.Split(3)
		add(domain.FamilyParticipant, s[1], s[2])
	}
}

// readsAs is the record of an authority, or the error that it is lost with.
func readsAs(v kvstore.View, k kvstore.Key) string {
	key, err := wire.ParseObjectKey(string(k[len(kvstore.Prefix(domain.FamilyAuthority)):]))
	if err != nil {
		return err.Error()
	}
	a, err := domain.ReadAuthority(v, &wire.AuthorityReadRequest{Key: key})
	if err != nil {
		return err.Error()
	}
	text, err := wire.Marshal(wire.JSON, a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// wantSame requires that two instances have the same state.
func wantSame(t tb, what string, a, b kvstore.View) {
	t.Helper()
	if diff := cmp.Diff(derivedIn(a), derivedIn(b)); diff != "" {
		t.Fatalf("%s: states differ (-lived +opened):\n%s", what, diff)
	}
}
