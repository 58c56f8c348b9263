package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// out waits until every instance knows that all events are out.
func (d *directory) out() {
	d.t.Helper()
	for _, i := range d.instances {
		rev := d.view(i).Revision()
		testenv.Eventually(d.t, patience, func() bool { return i.feed.Stats().Revision >= rev }, "events out up to", rev)
	}
}

// pushed waits until all events are out, and returns them.
func (d *directory) pushed() []change {
	d.t.Helper()
	d.out()
	return d.changes()
}

// change is one message of the stream.
type change struct {
	what     string // change, kind, scope and id
	revision string
	value    struct { // some fields of the payload
		Revision  string
		StoreTime int64
		RID       any
		MeshName  string
	}
}

func (d *directory) changes() (all []change) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(d.client)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := js.Stream(ctx, subjects.ChangesStream)
	if err != nil {
		d.t.Fatal(err)
	}
	for seq := s.CachedInfo().State.FirstSeq; seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if err != nil {
			d.t.Fatal(err)
		}
		subject, err := subjects.DefaultPrefix.ParseChange(m.Subject)
		if err != nil {
			d.t.Fatal(err)
		}
		c := change{
			what:     fmt.Sprintf("%s %s %s %q", m.Header.Get(wire.HeaderChange), subject.Kind, subject.Scope, subject.ID),
			revision: m.Header.Get(wire.HeaderRevision),
		}
		if err := json.Unmarshal(m.Data, &c.value); err != nil {
			d.t.Fatal(err)
		}
		if c.value.Revision != c.revision {
			d.t.Errorf("%s: revision %s in the payload, %s in the header", c.what, c.value.Revision, c.revision)
		}
		all = append(all, c)
	}
	return all
}

// whats lists what changed, and fails unless the revisions rise, and rise only where they may.
func (d *directory) whats(all []change, sameRevision ...[]int) (list []string) {
	d.t.Helper()
	for i, c := range all {
		list = append(list, c.what)
		together := slices.ContainsFunc(sameRevision, func(g []int) bool { return slices.Contains(g, i) && slices.Contains(g, i-1) })
		if i > 0 && (c.revision == all[i-1].revision) != together {
			d.t.Errorf("%s at %s after %s at %s, want the same revision: %t", c.what, c.revision, all[i-1].what, all[i-1].revision, together)
		}
	}
	return list
}

// TestLeasesThatEndArePushedOnce has two instances see a lease lapse and another one be released. 13, Z-01, Z-02.
func TestLeasesThatEndArePushedOnce(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one", "two")
	a := d.claim("a")
	d.publish(a, "n1", func(n object) { n["entrySpotId"] = "e1" })
	d.publish(a, "", func(n object) { n["rid"] = object{"hex": "00ff"} })
	d.publish(a, "n1", func(n object) { n["meshName"] = "lab" })
	b := d.claim("b")
	d.publish(b, "b1")
	// None of these is pushed.
	d.call(subjects.StoreWrite, `{"mutations":[{"kind":"put","key":"YQ==","bytes":""}]}`, nil).want(map[string]string{"kind": "applied"})
	d.call(subjects.StoreWrite, `{"mutations":[{"kind":"delete","key":"YQ=="}]}`, nil).want(map[string]string{"kind": "applied"})
	d.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"kind": "conflict"})
	d.call(subjects.LeaseRenew, fmt.Sprintf(`{"token":%s,"leaseTtlMs":30000}`, b), nil).want(map[string]string{"kind": "renewed"})

	renewed := d.call(subjects.LeaseRenew, fmt.Sprintf(`{"token":%s,"leaseTtlMs":300}`, a), nil).want(map[string]string{"kind": "renewed"})
	testenv.Eventually(t, patience, func() bool { return len(d.changes()) > 6 }, "events of the lapse")
	d.call(subjects.LeaseRelease, fmt.Sprintf(`{"token":%s}`, b), nil).want(map[string]string{"kind": "released"})

	all := d.pushed()
	want := []string{
		`upserted owner-lease owner "a"`,
		`upserted mesh-node play "n1"`,
		`upserted mesh-node play "\x00\xff"`,
		`upserted mesh-node lab "n1"`,
		`upserted owner-lease owner "b"`,
		`upserted mesh-node play "b1"`,
		`expired owner-lease owner "a"`,
		`expired mesh-node lab "n1"`,
		`expired mesh-node play "\x00\xff"`,
		`expired mesh-node play "n1"`,
		`removed owner-lease owner "b"`,
		`expired mesh-node play "b1"`,
	}
	if diff := cmp.Diff(want, d.whats(all, []int{6, 7, 8, 9}, []int{10, 11})); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{"hex": "00ff"}, all[2].value.RID); diff != "" {
		t.Errorf("routing id of an event (-want +got):\n%s", diff)
	}
	late := all[6].value.StoreTime - int64(renewed["leaseExpiresAt"].(float64))
	if late < 0 {
		t.Errorf("the lease was taken away %d ms before its expiry", -late)
	}
	t.Logf("the lease was taken away %d ms after its expiry", late) // 100 are allowed; how long it takes is the machine's business
}
