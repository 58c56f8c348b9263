package kvstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
)

// fill appends commits of one revision each, up to a revision.
func fill(l *kvstore.Log, from, to kvstore.Revision) {
	for r := from; r <= to; r++ {
		l.Append(&kvstore.Commit{Revision: r})
	}
}

func revisions(commits []*kvstore.Commit) (all []kvstore.Revision) {
	for _, c := range commits {
		all = append(all, c.Revision)
	}
	return all
}

func TestLogKeepsTheLatestCommits(t *testing.T) {
	t.Parallel()
	l := kvstore.NewLog(100, 4, false)
	if _, err := l.Watch(99); !errors.Is(err, kvstore.ErrResync) {
		t.Errorf("before the start: got %v, want ErrResync", err)
	}
	slow := watch(t, l, 100)
	fill(l, 101, 104)
	if diff := cmp.Diff([]kvstore.Revision{103, 104}, revisions(watch(t, l, 102).Ready())); diff != "" {
		t.Errorf("after 102 (-want +got):\n%s", diff)
	}
	fill(l, 105, 120)
	if _, err := slow.Next(t.Context()); !errors.Is(err, kvstore.ErrResync) {
		t.Errorf("slow watcher: got %v, want ErrResync", err)
	}
	if slow.Ready() != nil {
		t.Error("slow watcher has commits ready")
	}
	if _, err := l.Watch(104); !errors.Is(err, kvstore.ErrResync) {
		t.Errorf("forgotten history: got %v, want ErrResync", err)
	}
	if diff := cmp.Diff([]kvstore.Revision{117, 118, 119, 120}, revisions(watch(t, l, 116).Ready())); diff != "" {
		t.Errorf("the last ones (-want +got):\n%s", diff)
	}
	l.Append() // nothing
	if got := watch(t, l, 120).Ready(); len(got) != 0 {
		t.Errorf("%d commits after the last", len(got))
	}
}

// Whoever removes a row whose expiry has come, a sweep or the row that takes its place, it has expired once.
func TestLogCountsWhatExpired(t *testing.T) {
	t.Parallel()
	row := func(family string, expiry kvstore.Instant) *kvstore.Row {
		return &kvstore.Row{Key: kvstore.NewKey(family, "x"), Expiry: expiry}
	}
	entry := func(prior, next *kvstore.Row, expired bool) kvstore.Entry {
		return kvstore.Entry{Key: prior.Key, Prior: prior, Row: next, Expired: expired}
	}
	l := kvstore.NewLog(0, 4, false)
	l.Append(&kvstore.Commit{Revision: 1, Time: 100, Entries: []kvstore.Entry{
		entry(row("lease", 100), nil, true),
		entry(row("lease", 90), row("lease", 200), false),
		entry(row("mark", 100), nil, true),
	}}, &kvstore.Commit{Revision: 2, Time: 100, Entries: []kvstore.Entry{
		entry(row("lease", 101), row("lease", 200), false), // renewed in time
		entry(row("lease", 101), nil, false),               // released
		entry(row("node", 0), row("node", 0), false),
		{Key: kvstore.NewKey("lease", "x"), Row: row("lease", 50)}, // there was none before
	}})
	if diff := cmp.Diff(map[string]uint64{"lease": 2, "mark": 1}, l.Expired()); diff != "" {
		t.Errorf("expired by family (-want +got):\n%s", diff)
	}
}

func watch(t *testing.T, l *kvstore.Log, after kvstore.Revision) *kvstore.Watcher {
	t.Helper()
	w, err := l.Watch(after)
	if err != nil {
		t.Fatalf("Watch(%d): %v", after, err)
	}
	return w
}

func TestHeldLogKeepsWhatIsNotReleased(t *testing.T) {
	t.Parallel()
	l := kvstore.NewLog(0, 4, true)
	fill(l, 1, 100)
	if got := watch(t, l, 0).Ready(); len(got) != 100 {
		t.Errorf("%d commits, want all", len(got))
	}
	l.Release(50)
	l.Release(10) // it never goes back
	if _, err := l.Watch(49); !errors.Is(err, kvstore.ErrResync) {
		t.Errorf("released history: got %v, want ErrResync", err)
	}
	if got := watch(t, l, 50).Ready(); len(got) != 50 {
		t.Errorf("%d commits after what was released, want 50", len(got))
	}
}

func TestResetLogMakesWatchersStartOver(t *testing.T) {
	t.Parallel()
	l := kvstore.NewLog(0, 4, false)
	fill(l, 1, 3)
	behind, current := watch(t, l, 1), watch(t, l, 3)
	l.Reset(2) // a restored store has an older revision
	for _, w := range []*kvstore.Watcher{behind, current} {
		if _, err := w.Next(t.Context()); !errors.Is(err, kvstore.ErrResync) {
			t.Errorf("got %v, want ErrResync", err)
		}
	}
	w := watch(t, l, 2)
	fill(l, 3, 3)
	if diff := cmp.Diff([]kvstore.Revision{3}, revisions(w.Ready())); diff != "" {
		t.Errorf("after the reset (-want +got):\n%s", diff)
	}
}

func TestWatcherWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := kvstore.NewLog(0, 4, false)
		w := watch(t, l, 2) // what is not there yet
		changed := l.Changed()
		var got []*kvstore.Commit
		go func() { got, _ = w.Next(t.Context()) }()
		fill(l, 1, 2)
		synctest.Wait()
		if got != nil {
			t.Fatalf("got %d commits before the one that was asked for", len(got))
		}
		<-changed
		fill(l, 3, 3)
		synctest.Wait()
		if diff := cmp.Diff([]kvstore.Revision{3}, revisions(got)); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

// What a watcher was given stays as it was while the log goes on.
func TestWatcherOwnsItsSlice(t *testing.T) {
	t.Parallel()
	l := kvstore.NewLog(0, 4, false)
	fill(l, 1, 2)
	got := watch(t, l, 0).Ready()
	fill(l, 3, 30)
	got = append(got, &kvstore.Commit{Revision: 99})
	if diff := cmp.Diff([]kvstore.Revision{1, 2, 99}, revisions(got)); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]kvstore.Revision{30}, revisions(watch(t, l, 29).Ready())); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}
