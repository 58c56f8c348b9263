package kvstore

import (
	"crypto/rand"
	"sync"
	"time"
)

// SnapshotTTL is how long a snapshot is kept after its last use.
const SnapshotTTL = 60 * time.Second

// maxSnapshots bounds what callers who begin lists and never end them can hold.
const maxSnapshots = 65536

// Snapshots keeps views for lists that are read page by page. A snapshot costs
// what has been rewritten since. The zero value is ready to use.
type Snapshots struct {
	mu    sync.Mutex
	kept  map[string]*snapshot // guarded by mu
	swept time.Time            // guarded by mu
}

type snapshot struct {
	view View
	used time.Time
}

// Keep stores a view and returns its id, a text that cannot be guessed. It
// returns ErrOverloaded when too many snapshots are kept.
func (s *Snapshots) Keep(v View) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweepLocked(now)
	if len(s.kept) >= maxSnapshots {
		return "", ErrOverloaded
	}
	if s.kept == nil {
		s.kept = make(map[string]*snapshot)
	}
	id := rand.Text()
	s.kept[id] = &snapshot{v, now}
	return id, nil
}

// Find returns a view that was kept and counts as a use of it, or
// ErrScanExpired.
func (s *Snapshots) Find(id string) (View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweepLocked(now)
	if kept, ok := s.kept[id]; ok {
		kept.used = now
		return kept.view, nil
	}
	return View{}, ErrScanExpired
}

// sweepLocked drops what was not used for SnapshotTTL. Looking at all of them
// costs their number, so it happens a few times per TTL only.
func (s *Snapshots) sweepLocked(now time.Time) {
	if now.Sub(s.swept) < SnapshotTTL/8 {
		return
	}
	s.swept = now
	for id, kept := range s.kept {
		if now.Sub(kept.used) > SnapshotTTL {
			delete(s.kept, id)
		}
	}
}
