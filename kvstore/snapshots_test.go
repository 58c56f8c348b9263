package kvstore_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

func TestSnapshotsLiveFromUseToUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s kvstore.Snapshots
		state := kvstore.NewState(nil)
		state.Advance(7)
		used, left := keep(t, &s, state.View(1)), keep(t, &s, state.View(2))
		if used == left || len(used) < 20 {
			t.Errorf("ids %q and %q can be guessed", used, left)
		}
		for range 5 {
			time.Sleep(kvstore.SnapshotTTL * 9 / 10)
			v, err := s.Find(used)
			if err != nil || v.Revision() != 7 || v.Now() != 1 {
				t.Fatalf("snapshot in use: %v", err)
			}
		}
		for _, id := range []string{left, "", "x"} {
			if _, err := s.Find(id); !errors.Is(err, kvstore.ErrScanExpired) {
				t.Errorf("snapshot %q: got %v, want ErrScanExpired", id, err)
			}
		}
		time.Sleep(2 * kvstore.SnapshotTTL)
		if _, err := s.Find(used); !errors.Is(err, kvstore.ErrScanExpired) {
			t.Errorf("snapshot that was not used for long: got %v, want ErrScanExpired", err)
		}
	})
}

func keep(t *testing.T, s *kvstore.Snapshots, v kvstore.View) string {
	t.Helper()
	id, err := s.Keep(v)
	if err != nil {
		t.Fatalf("Keep: %v", err)
	}
	return id
}

func TestSnapshotsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s kvstore.Snapshots
		v := kvstore.NewState(nil).View(1)
		n := 0
		for ; n < 1<<20; n++ {
			if _, err := s.Keep(v); err != nil {
				if !errors.Is(err, kvstore.ErrOverloaded) {
					t.Fatalf("got %v, want ErrOverloaded", err)
				}
				break
			}
		}
		if n == 1<<20 {
			t.Fatal("snapshots have no bound")
		}
		time.Sleep(2 * kvstore.SnapshotTTL)
		keep(t, &s, v) // the abandoned ones are gone
	})
}
