package handlers_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	testT0 = testenv.T0
	claimA = `{"ownerId":"a","leaseTtlMs":30000}`
	readA  = `{"ownerId":"a"}`
)

type code = wire.Code

func TestMalformedHeadersAreNamed(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	unchanged := f.unchanged()
	for _, c := range []struct{ why, header, value string }{
		{"no such encoding", "Content-Type", "text/plain"},
		{"no number", "Zlink-Deadline", "soon"},
		{"no whole number", "Zlink-Deadline", "1.5"},
		{"sign without digits", "Zlink-Deadline", "-"},
		{"two signs", "Zlink-Deadline", "--1"},
		{"above 2^63-1", "Zlink-Deadline", "9223372036854775808"},
		{"empty", "Zlink-Deadline", ""},
		{"above 2^63-1", "Zlink-Min-Revision", "9223372036854775808"},
		{"not decimal", "Zlink-Min-Revision", "0x10"},
		{"no such consistency", "Zlink-Consistency", "quorum"},
		{"values are compared by case", "Zlink-Consistency", "Leader"},
	} {
		for _, op := range []subjects.Operation{subjects.LeaseRead, subjects.LeaseClaim, subjects.MeshNodeList} {
			t.Run(fmt.Sprintf("%s %q %s", c.header, c.value, op), func(t *testing.T) {
				f.call(op, claimA, headers{c.header: c.value}).refused(wire.CodeInvalidArgument, c.header)
			})
		}
	}
	unchanged()
}

func TestHeaderNamesAreComparedByCase(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.call(subjects.LeaseRead, readA, headers{"zlink-deadline": "soon", "traceparent": "00-1-2-03"}).
		want(map[string]string{"kind": "missing"})
}

func TestContentTypeDecidesTheEncodingOfRefusalsToo(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	for _, c := range []struct{ contentType, payload, want string }{
		{"", "{", "application/json"},
		{"", "\xff", "application/cbor"},
		{"application/json", "\xff", "application/json"},
		{"application/cbor", "{", "application/cbor"},
		{"text/plain", "{", "application/json"},
		{"text/plain", "\xff", "application/cbor"},
	} {
		h := headers{}
		if c.contentType != "" {
			h["Content-Type"] = c.contentType
		}
		reply := f.call(subjects.LeaseRead, c.payload, h)
		if got := reply.Header.Get("Content-Type"); got != c.want {
			t.Errorf("%q with %q: got %q, want %q", c.payload, c.contentType, got, c.want)
		}
	}
}

func TestDeadlineIsAnInstantOfTheStore(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	unchanged := f.unchanged()
	for _, past := range []int64{0, -1, -1 << 62, testT0 - 1, testT0} {
		h := headers{"Zlink-Deadline": fmt.Sprint(past)}
		f.call(subjects.LeaseClaim, claimA, h).refused(wire.CodeDeadlineExceeded, "")
		f.call(subjects.LeaseRead, readA, h).refused(wire.CodeDeadlineExceeded, "")
		f.call(subjects.StatusGet, "{}", h).refused(wire.CodeDeadlineExceeded, "")
		// Validation comes first.
		f.call(subjects.LeaseClaim, readA, h).refused(wire.CodeInvalidArgument, "leaseTtlMs")
		f.call(subjects.LeaseRead, "{}", h).refused(wire.CodeInvalidArgument, "ownerId")
		f.call(subjects.TopologyList, `{"pageSize":0}`, h).refused(wire.CodeInvalidArgument, "pageSize")
	}
	unchanged()
	for _, ahead := range []int64{testT0 + 60_000, 1<<63 - 1} {
		h := headers{"Zlink-Deadline": fmt.Sprint(ahead)}
		f.call(subjects.LeaseRead, readA, h).want(map[string]string{"kind": "missing"})
		f.call(subjects.StoreWrite, `{"mutations":[{"kind":"delete","key":"YQ=="}]}`, h).want(map[string]string{"kind": "applied"})
	}
}

func TestMinRevisionThatNeverComesRunsIntoTheDeadline(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	for _, op := range []subjects.Operation{subjects.LeaseRead, subjects.TopologySummary, subjects.StatusGet} {
		payload := "{}"
		if op == subjects.LeaseRead {
			payload = readA
		}
		h := headers{"Zlink-Min-Revision": "1", "Zlink-Deadline": fmt.Sprint(testT0 + 20)}
		f.call(op, payload, h).refused(wire.CodeDeadlineExceeded, "")
	}
}

func TestMinRevisionWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		// Only once the read is in flight: it is answered by what comes later.
		testenv.Eventually(t, patience, func() bool { return f.Counters().InFlight == 1 }, "a read that waits")
		f.claim("a")
	})
	reply := f.call(subjects.LeaseRead, readA, headers{"Zlink-Min-Revision": "1"})
	reply.want(map[string]string{"kind": "found"})
	if reply.revision() != "1" {
		t.Errorf("revision %s, want 1", reply.revision())
	}
	f.call(subjects.LeaseRead, readA, headers{"Zlink-Min-Revision": "1"}).want(map[string]string{"kind": "found"})
}

func TestConsistencyLeaderAsksTheStore(t *testing.T) {
	t.Parallel()
	var store *stub
	f := start(t, func(o *handlers.Options) {
		store = &stub{Store: o.Store}
		o.Store = store
	})
	h := headers{"Zlink-Consistency": "leader", "Zlink-Min-Revision": "0"}
	f.call(subjects.LeaseRead, readA, h).want(map[string]string{"kind": "missing"})
	f.call(subjects.TopologyList, "{}", h).want(map[string]string{"revision": "0"})
	want := []kvstore.ReadOptions{{Leader: true}, {Leader: true}}
	if diff := cmp.Diff(want, store.viewsSeen()); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}
