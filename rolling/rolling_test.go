package rolling_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

// TestEveryPartIsRenewedUnderLoad stops and starts every server and every instance in turn. No call may fail, and two watches have to
// tell each change once, in order.
func TestEveryPartIsRenewedUnderLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers")
	}
	w := newWorld(t)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	c := w.client()
	spots := follow(watching, c.Spots.Watch(watching, wire.SpotListRequest{}), func(e client.Event[client.SpotKey, wire.SpotItem]) string {
		return told(e.Type, e.Key.SpotID, e.Row == nil, func() any { return e.Row.SpotGeneration })
	})
	rooms := follow(watching, c.Authorities.Watch(watching, client.AuthorityWatchRequest{Kind: wire.LookupSpot}),
		func(e client.Event[string, wire.Authority]) string {
			return told(e.Type, e.Key, e.Row == nil, func() any { return e.Row.Allocation.State })
		})
	for _, x := range []*transcript{spots, rooms} {
		if got := x.next(t); got != string(client.EventSynced) {
			t.Fatalf("the first event of an empty directory is %q, want %q", got, client.EventSynced)
		}
	}

	l := startLoad(w)
	defer l.end()
	w.renew(func(step string) { l.progress(t, step) })
	l.end()

	last := newCaller(w, lastCaller)
	last.rewrite(1)
	last.create(lastCaller)
	spots.hear(t, "upserted "+lastCaller+" 1")
	rooms.hear(t, "upserted "+keyOf(lastCaller)+" active")
	var looked int
	for _, k := range l.callers {
		k.check(spots, rooms)
		looked += k.asked
	}
	t.Logf("%d events, %d removals that had to be looked after", len(spots.heard)+len(rooms.heard), looked)
	stop()
	for _, x := range []*transcript{spots, rooms} {
		if err := <-x.failed; !errors.Is(err, context.Canceled) {
			t.Errorf("the watch ended with %v", err)
		}
	}
}

// lastCaller writes after all others have ended.
const lastCaller = "last"

func keyOf(id string) string { return wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}.Text() }

// told puts an event into words.
func told(what client.EventType, key string, removed bool, value func() any) string {
	switch {
	case key == "":
		return string(what)
	case removed:
		return fmt.Sprintf("%s %s", what, key)
	}
	return fmt.Sprintf("%s %s %v", what, key, value())
}

// check compares what the watches told of the caller's rows with what it did.
func (k *caller) check(spots, rooms *transcript) {
	k.t.Helper()
	var wantSpots, wantRooms []string
	for n := int64(1); n <= k.rounds.Load(); n++ {
		wantSpots = append(wantSpots, fmt.Sprintf("upserted %s %d", k.name, n))
		key := keyOf(fmt.Sprintf("%s-%d", k.name, n))
		wantRooms = append(wantRooms, "upserted "+key+" reserved", "upserted "+key+" active", "removed "+key)
	}
	for name, pair := range map[string]struct {
		x    *transcript
		want []string
	}{"spots": {spots, wantSpots}, "rooms": {rooms, wantRooms}} {
		got := pair.x.of(k.name)
		if diff := cmp.Diff(pair.want, got); diff != "" {
			k.t.Errorf("%s of %s (-written +told):\n%s", name, k.name, diff)
		}
	}
}

// transcript is what a watch tells, event by event.
type transcript struct {
	events chan string
	failed chan error
	heard  []string
}

// follow writes down what a watch tells.
func follow[Event any](ctx context.Context, watch iter.Seq2[Event, error], words func(Event) string) *transcript {
	x := &transcript{events: make(chan string), failed: make(chan error, 1)}
	go func() {
		for e, err := range watch {
			if err != nil {
				x.failed <- err
				return
			}
			select {
			case x.events <- words(e):
			case <-ctx.Done():
			}
		}
	}()
	return x
}

// next waits for the next event.
func (x *transcript) next(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case e := <-x.events:
		return e
	case err := <-x.failed:
		t.Fatalf("watch: %v", err)
	case <-ctx.Done():
		t.Fatalf("no event; so far %d", len(x.heard))
	}
	return ""
}

// hear listens up to an event.
func (x *transcript) hear(t *testing.T, last string) {
	t.Helper()
	for e := ""; e != last; {
		e = x.next(t)
		if e == string(client.EventResync) {
			t.Fatal("the watch began anew")
		}
		x.heard = append(x.heard, e)
	}
}

// of returns the events about the rows of a caller.
func (x *transcript) of(caller string) (all []string) {
	for _, e := range x.heard {
		if strings.Contains(e+" ", " "+caller+" ") || strings.Contains(e, ":"+caller+"-") {
			all = append(all, e)
		}
	}
	return all
}
