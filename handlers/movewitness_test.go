package handlers_test

import (
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// witness is a client that reads while rooms move from n1 to n2.
type witness struct {
	*fixture
	objects int // how many rooms there are
}

// sight is what a reader has seen last. It asks for nothing older.
type sight struct {
	revision uint64
	moved    bool
}

func (s *sight) headers() headers {
	return headers{wire.HeaderMinRevision: strconv.FormatUint(s.revision, 10)}
}

// note takes a reply in: what has moved does not move back.
func (s *sight) note(a answer, what string, moved bool) {
	a.t.Helper()
	revision := revisionOf(a)
	if revision < s.revision {
		a.t.Errorf("%s at revision %d after one of %d", what, revision, s.revision)
	}
	if s.moved && !moved {
		a.t.Errorf("%s at revision %d shows what was before the move that was seen at %d", what, revision, s.revision)
	}
	s.revision, s.moved = revision, moved
}

func revisionOf(a answer) uint64 {
	a.t.Helper()
	revision, err := strconv.ParseUint(a.revision(), 10, 63)
	if err != nil {
		a.t.Fatal(err)
	}
	return revision
}

// watch reads until the returned function is called.
func (w *witness) watch() (stop func()) {
	done := make(chan struct{})
	var readers sync.WaitGroup
	var counts [2]int
	for i, look := range []func(*sight){
		func(s *sight) { w.list(s) },
		func(s *sight) { w.usages(s); w.find(s, roomID(rand.IntN(w.objects))) },
	} {
		readers.Go(func() {
			for s := (sight{}); ; counts[i]++ {
				select {
				case <-done:
					return
				default:
					look(&s)
				}
			}
		})
	}
	return func() {
		close(done)
		readers.Wait()
		w.t.Logf("%d lists, %d looks at usage and rooms meanwhile", counts[0], counts[1])
	}
}

// list reads a list of all rooms, which shows all of them moved or none, and returns it without what differs from one reading to the
// next. 5.1
func (w *witness) list(s *sight) (all []wire.AuthorityItem) {
	w.t.Helper()
	req, h := wire.AuthorityListRequest{Limit: 1000}, s.headers()
	moved := 0
	for {
		reply := w.call(subjects.AuthorityList, payload(w.t, req), h)
		page := resultOf[wire.AuthorityListReply](reply)
		for _, item := range page.Items {
			if item.Snapshot.Allocation.Descriptor.RID == "n2" {
				moved++
			}
			item.Snapshot.StoreNow = 0
			all = append(all, item)
		}
		if req.Cursor = page.NextCursor; req.Cursor == "" {
			if len(all) != w.objects || moved != 0 && moved != w.objects {
				w.t.Errorf("list of %d rooms, of which %d have moved, want %d and all or none", len(all), moved, w.objects)
			}
			s.note(reply, "list", moved > 0)
			return all
		}
	}
}

// usages looks at what is in use of both nodes. 1.10
func (w *witness) usages(s *sight) {
	w.t.Helper()
	reply := w.call(subjects.MeshNodeList, `{"meshName":"play"}`, s.headers())
	list := resultOf[wire.MeshNodeListReply](reply)
	if len(list.Items) != 2 {
		w.t.Fatalf("nodes %+v", list)
	}
	n1, n2 := list.Items[0].PopulationCapacity.Spots, list.Items[1].PopulationCapacity.Spots
	all := uint32(w.objects)
	moved := n2.Active > 0
	switch {
	case moved && n1 == wire.Usage{} && n2 == wire.Usage{Active: all}:
	case !moved && n1 == wire.Usage{Active: all} && (n2 == wire.Usage{} || n2 == wire.Usage{Reserved: all}):
	default:
		w.t.Errorf("in use of n1 %+v, of n2 %+v, want %d at one of them", n1, n2, all)
	}
	s.note(reply, "usage", moved)
}

// find asks where a room is. 6.8
func (w *witness) find(s *sight, id string) {
	w.t.Helper()
	reply := w.call(subjects.ObjectFind, payload(w.t, wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: id}), s.headers())
	e := resultOf[wire.ObjectFindReply](reply).Entry
	if e == nil || e.State != wire.EntryReady || e.NodeRID != "n1" && e.NodeRID != "n2" {
		w.t.Fatalf("room %s: %+v", id, e)
	}
	s.note(reply, "room "+id, e.NodeRID == "n2")
}
