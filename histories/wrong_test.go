package histories_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// TestRightHistoryIsAccepted: so that the others are refused for what was changed in them.
func TestRightHistoryIsAccepted(t *testing.T) {
	t.Parallel()
	wantNothing(t, newStory())
}

func wantNothing(t *testing.T, s *story) {
	t.Helper()
	for _, err := range examine(s.calls, s.events, time.Minute, t.TempDir()) {
		t.Error(err)
	}
}

// wantFault checks that something is found with a text in it.
func wantFault(t *testing.T, s *story, want string) {
	t.Helper()
	var all []string
	for _, err := range examine(s.calls, s.events, time.Minute, t.TempDir()) {
		all = append(all, err.Error())
	}
	if text := strings.Join(all, "\n"); !strings.Contains(text, want) {
		t.Errorf("found %q, want %q", text, want)
	}
}

// without removes the event at a revision.
func (s *story) without(revision uint64) {
	s.events = slices.DeleteFunc(s.events, func(e *event) bool { return e.revision == revision })
}

// also adds a call after all others, which makes an object or lease event.
func (s *story) also(c *call, e *event) {
	at := time.Duration(len(s.calls)) * time.Second
	c.fresh, c.called, c.returned = true, at, at+time.Millisecond
	s.calls = append(s.calls, c)
	s.changes(e)
}

// TestWrongHistoriesAreRefused changes one thing in a history.
func TestWrongHistoriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*story)
		want string // in what is found
	}{
		{"two owners of a lease", func(s *story) {
			s.calls[releases].reply = &wire.LeaseReleaseReply{Kind: wire.KindStale}
		}, "history of lease o1, 3 calls, is not linearizable"},
		{"a generation comes back", func(s *story) {
			s.calls[claimsAgain].reply = &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &s.owner}
		}, "history of lease o1"},
		{"two owners of an object", func(s *story) {
			a := s.record(6, "creating")
			a.Allocation.State, a.ObjectGeneration, a.AuthorityOwnerGeneration = wire.AllocationReserved, 6, 6
			a.PendingCreation = &wire.PendingCreation{ReservationID: "other"}
			*s.calls[doubtful] = *s.calls[reserves]
			s.calls[doubtful].called, s.calls[doubtful].returned = 8*time.Second, 8*time.Second+1
			s.calls[doubtful].request, s.calls[doubtful].revision = s.reserve("r1", "other"), 6
			s.calls[doubtful].reply = &wire.ObjectReserveReply{Kind: wire.KindReserved, Creating: &a}
		}, "history of object r1"},
		{"a lost update", func(s *story) {
			c := s.calls[doubtful]
			c.outcome, c.request, c.reply, c.revision = answered, putting("4", "last"), stored(s.last), 6
		}, "history of object r1"},
		{"a stale read", func(s *story) {
			s.calls[reads5].reply = snapshot(s.ready)
		}, "history of object r1"},
		{"a read of what was never written", func(s *story) {
			s.calls[reads6].reply = snapshot(s.record(6, "invented"))
		}, "history of object r1"},
		{"a doubtful write that happens and does not", func(s *story) {
			s.calls[deletes].request.(*wire.AuthorityCompareExchangeRequest).ExpectedStoreVersion = "5"
		}, "history of object r1"},
		{"an over-full node", func(s *story) {
			a := s.record(9, "creating")
			a.Key, a.StoreVersion = room("r2").Text(), "5"
			c := s.calls[exhausted]
			a.Allocation.State, a.ObjectGeneration, a.AuthorityOwnerGeneration = wire.AllocationReserved, 5, 5
			a.PendingCreation = &wire.PendingCreation{ReservationID: "second"}
			c.reply = &wire.ObjectReserveReply{Kind: wire.KindReserved, Creating: &a}
		}, "history of node n1"},
		{"no room on a node that has some", func(s *story) {
			s.calls[publishes].request.(*wire.MeshNodeUpdateRequest).Descriptor.PopulationCapacity.Spots.Limit = 2
			s.node.PopulationCapacity.Spots.Limit = 2
		}, "history of node n1"},
		{"a sum that is not one", func(s *story) {
			s.calls[lists].reply.(*wire.MeshNodeListReply).Items[0].PopulationCapacity.Spots.Active = 0
		}, "[0 1] active and"},
		{"a write by an owner that has ended", func(s *story) {
			other := wire.OwnerToken{OwnerID: "o2", LeaseGeneration: 1}
			s.calls[claims].request = &wire.LeaseClaimRequest{OwnerID: "o2", TTL: leaseTTL}
			s.calls[claims].reply = &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &other}
			s.events[0].key, s.events[0].lease = "o2", &wire.OwnerLease{OwnerToken: other}
		}, `answered "put stored", want ["put conflict"]`},
		{"a reservation on a node that drains", func(s *story) {
			s.calls[publishes].request.(*wire.MeshNodeUpdateRequest).Descriptor.State = wire.StateDraining
			s.node.State = wire.StateDraining
		}, `answered "reserved ", want ["conflict targetUnavailable"]`},
		{"a refusal that is no longer true", func(s *story) {
			s.calls[unavailable].revision = 7
		}, "older than what was told before"},
		{"a read older than asked for", func(s *story) {
			s.calls[reads5].fresh, s.calls[reads5].min, s.calls[reads5].revision = false, 5, 4
			s.calls[reads5].reply = snapshot(s.ready)
		}, "older than revision 5"},
		{"a read of any age of what never was", func(s *story) {
			s.calls[reads5].fresh, s.calls[reads5].revision = false, 4
		}, "at revision 4: the object is"},
		{"a change is missing", func(s *story) { s.without(5) }, "no change"},
		{"a removal is missing", func(s *story) { s.without(7) }, "no change"},
		{"a change comes twice", func(s *story) {
			s.events = slices.Insert(s.events, 5, s.events[4])
		}, "after @5.0"},
		{"changes out of order", func(s *story) {
			s.events[4], s.events[5] = s.events[5], s.events[4]
		}, "change @5.0"},
		{"a change that nobody made", func(s *story) {
			s.calls = slices.Delete(s.calls, doubtful, doubtful+1)
		}, "nobody can have made the change @6.0"},
		{"a change that was refused", func(s *story) {
			s.calls[doubtful].outcome = refused
		}, "nobody can have made the change @6.0"},
		{"another change than was told", func(s *story) {
			other := s.record(5, "other")
			s.events[4].object = &other
		}, "no change"},
		{"a generation that falls", func(s *story) {
			s.events[9].lease = &wire.OwnerLease{OwnerToken: wire.OwnerToken{OwnerID: "o1"}}
			s.events[9].lease.LeaseGeneration = s.events[0].lease.LeaseGeneration
			s.events[0].lease = &wire.OwnerLease{OwnerToken: wire.OwnerToken{OwnerID: "o1", LeaseGeneration: 10}}
		}, "generation 1 after 10"},
		{"a lost update of the opaque store", func(s *story) {
			for i := range 2 {
				s.told(subjects.StoreWrite, &wire.StoreWriteRequest{
					Conditions: []wire.StoreCondition{{Kind: wire.ConditionMissing, Key: keyOfCell(0)}},
					Mutations:  []wire.StoreMutation{{Kind: wire.MutationPut, Key: keyOfCell(0), Bytes: wire.Bytes("x")}},
				}, uint64(10+i), &wire.StoreWriteReply{
					Kind: wire.KindApplied, PutVersions: []wire.PutVersion{{Key: keyOfCell(0), Version: wire.Version(strconv.Itoa(10 + i))}},
				})
			}
		}, "history of opaque store"},
		{"an abort after the commit", func(s *story) {
			s.also(&call{op: subjects.ObjectAbort, revision: 10, reply: &wire.ObjectAbortReply{Kind: wire.KindAborted}, request: &wire.ObjectAbortRequest{
				Key: room("r1"), ReservationID: "first", ExpectedStoreVersion: "3", Target: s.target(),
			}}, &event{revision: 10, kind: wire.EventAuthority, change: wire.ChangeRemoved, key: room("r1").Text()})
		}, "history of object r1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			tt.edit(s)
			wantFault(t, s, tt.want)
		})
	}
}
