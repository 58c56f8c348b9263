package kvstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
)

// store keeps a row with an expiry.
func store(t *testing.T, s kvstore.Store, k kvstore.Key, expiry kvstore.Instant) {
	t.Helper()
	_, err := s.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(k, nil, expiry)
		return err
	})
	if err != nil {
		t.Fatalf("Update: %v", err)
	}
}

func rows(t *testing.T, s kvstore.Store) int {
	t.Helper()
	v, err := s.View(t.Context(), kvstore.ReadOptions{})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return v.State().Rows()
}

func TestSweepWakesForEarlierExpiries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memkv.New(memkv.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- kvstore.Sweep(ctx, s, slog.New(slog.DiscardHandler)) }()
		now := s.Clock().Now()
		store(t, s, "late", now+60_000)
		synctest.Wait()
		store(t, s, "early", now+1000)
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if got := rows(t, s); got != 2 {
			t.Errorf("%d rows before the first expiry, want 2", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := rows(t, s); got != 1 {
			t.Errorf("%d rows after the first expiry, want 1", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := rows(t, s); got != 0 {
			t.Errorf("%d rows after the last expiry, want none", got)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

// While the store fails, Sweep tries again at growing distances.
func TestSweepOutlivesFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := memkv.New(memkv.Options{})
		store(t, s, "k", s.Clock().Now()+1)
		s.Fail(kvstore.ErrUnavailable)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- kvstore.Sweep(ctx, s, slog.New(slog.NewTextHandler(&log, nil))) }()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "\n"); n < 10 || n > 40 {
			t.Errorf("%d attempts in 20 seconds", n)
		}
		s.Fail(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := rows(t, s); got != 0 {
			t.Errorf("%d rows after the failure, want none", got)
		}
		cancel()
		<-ended
	})
}

func TestSystemClockRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := kvstore.NewSystemClock()
		start := c.Now()
		if start != kvstore.Instant(time.Now().UnixMilli()) {
			t.Errorf("clock starts at %d", start)
		}
		if err := c.Wait(t.Context(), start+1500); err != nil || c.Now() != start+1500 {
			t.Errorf("waited until %d, %v, want %d", c.Now(), err, start+1500)
		}
		if err := c.Wait(t.Context(), start); err != nil {
			t.Errorf("waiting for what has passed: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Wait(ctx, start+10_000); !errors.Is(err, context.DeadlineExceeded) || c.Now() != start+2500 {
			t.Errorf("at %d: %v, want the context's error", c.Now(), err)
		}
	})
}
