package kvstore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// sweepRows bounds one commit of the sweep, so that it does not stand in the
	// way of callers for long, and yet many rows that expire at one instant are
	// gone within 100 ms.
	sweepRows = 1000
	// sweepStandby is how long an instance that is not writing leaves the work
	// to the one that is.
	sweepStandby = 30 * time.Millisecond
	// forgetAfter is how long the history of a removed row is kept at least.
	forgetAfter = 2 * time.Second
	// sweepRetry is the first wait after a failure, doubled up to sweepRetryMax.
	sweepRetry, sweepRetryMax = 20 * time.Millisecond, time.Second
)

// Sweep removes rows at their expiry, and the history of rows that were removed
// before, until the context ends. Every instance of a store runs it; whoever is
// first does the work. It returns the context's error.
func Sweep(ctx context.Context, s Store, log *slog.Logger) error {
	sw := sweeper{store: s, log: log, pace: newPace()}
	retry := sweepRetry
	for {
		switch err := sw.pass(ctx); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			retry = sweepRetry
		default:
			log.Warn("sweep", "op", "sweep", "err", err)
			if !Pause(ctx, retry) {
				return ctx.Err()
			}
			retry = min(2*retry, sweepRetryMax)
		}
	}
}

type sweeper struct {
	store Store
	log   *slog.Logger
	// seen is the revision at seenAt; tombstones up to it may be forgotten from
	// seenAt + forgetAfter on. 0 when there are none.
	seen   Revision
	seenAt time.Time
	pace   pace
}

// pass does what is due, or waits until something may be.
func (sw *sweeper) pass(ctx context.Context) error {
	v, err := sw.store.View(ctx, ReadOptions{})
	if err != nil {
		return err
	}
	next := v.NextExpiry()
	if next != 0 && next <= v.Now() {
		if sw.store.Writer() != "" && !Pause(ctx, sweepStandby) {
			return ctx.Err()
		}
		return sw.expire(ctx)
	}
	forget, wait := sw.forgettable(v)
	if forget > 0 {
		return sw.forget(ctx, forget)
	}
	return sw.wait(ctx, v.Revision(), next, wait)
}

func (sw *sweeper) expire(ctx context.Context) error {
	_, err := sw.store.Update(ctx, UpdateOptions{}, func(tx *Tx) error {
		n := 0
		for r := range tx.Expired() {
			if n++; n > min(sweepRows, tx.limits.CommitRows) {
				break
			}
			if _, err := tx.Expire(r); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// forgettable returns the revision up to which tombstones have been kept long
// enough, or how long to wait for the next; 0 when there are none.
func (sw *sweeper) forgettable(v View) (Revision, time.Duration) {
	switch {
	case v.state.removed.Len() == 0:
		sw.seen = 0
		return 0, 0
	case sw.seen == 0:
		sw.seen, sw.seenAt = v.Revision(), time.Now()
	}
	if wait := max(forgetAfter-time.Since(sw.seenAt), time.Until(sw.pace.due)); wait > 0 {
		return 0, wait
	}
	return sw.seen, 0
}

// forget drops the history of removed rows. What must outlive it, the stamps of
// their scopes, is stored in the same commit.
func (sw *sweeper) forget(ctx context.Context, upTo Revision) error {
	began, done := time.Now(), false
	defer func() { sw.pace.took(time.Since(began)) }()
	_, err := sw.store.Update(ctx, UpdateOptions{}, func(tx *Tx) error {
		scopes := make(map[string]bool)
		n := 0
		done = true
		for t := range tx.state.Tombstones() {
			if t.Revision > upTo {
				continue
			}
			if n++; n > min(sw.pace.rows, tx.limits.CommitRows/4) {
				done = false
				break
			}
			for _, st := range tx.removalStamps(t) {
				scopes[st.Scope] = true
			}
			if err := tx.forget(t); err != nil {
				return err
			}
		}
		return tx.keepStamps(scopes)
	})
	if err == nil && done {
		sw.seen = 0
	}
	return err
}

func (tx *Tx) removalStamps(t Tombstone) []Stamp {
	if tx.state.schema.Stamp == nil {
		return nil
	}
	return tx.state.schema.Stamp(Entry{Key: t.Key, Revision: t.Revision})
}

func (tx *Tx) keepStamps(scopes map[string]bool) error {
	for scope := range scopes {
		key, stamp := NewKey(stampFamily, scope), tx.Stamp(scope).String()
		if r := tx.Row(key); r != nil && string(r.Value) == stamp {
			continue
		}
		if _, err := tx.Put(key, []byte(stamp), 0); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when the next expiry has come or has become earlier, or when a
// tombstone may be forgotten.
func (sw *sweeper) wait(ctx context.Context, after Revision, next Instant, tombstones time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if tombstones > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, tombstones)
		defer stop()
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	if next != 0 {
		wg.Go(func() {
			defer cancel()
			_ = sw.store.Clock().Wait(ctx, next) // the next pass looks itself
		})
	}
	defer cancel()
	w, err := sw.store.Watch(after)
	for err == nil {
		if _, err = w.Next(ctx); err != nil {
			break
		}
		v, viewErr := sw.store.View(ctx, ReadOptions{})
		if viewErr != nil || v.NextExpiry() != next || (tombstones == 0 && v.state.removed.Len() > 0) {
			return nil // look again: the wait may have become shorter
		}
	}
	return nil
}

// Pause waits; false when the context ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
