package peers

import (
	"maps"
	"slices"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// phase is how far a link is.
type phase uint8

const (
	dialling phase = iota
	connected
	closing // until it is gone; the dial may still be on its way
	refused // not before retryAt again
	dropped // not before the next listing again
)

// link is a connection, or the wish for one.
type link struct {
	target  Target
	phase   phase
	retryAt time.Time // when refused
}

// held tells whether there is a connection to the target, or one on its way.
func (l *link) held() bool { return l.phase == dialling || l.phase == connected }

// state is what a host knows of its peers and what it has to do with them. It neither waits nor asks: everything happens to it,
// at instants that it is told, which never go back. It is for one goroutine.
type state struct {
	rules
	retry, grace, ttl time.Duration

	listed map[identity]Target // those of the last listing that the host dials
	// kept are targets that were wanted before listings failed, and that no listing has shown since. Owners whose leases lapsed
	// while nobody could renew them get the time of one to come back.
	kept      map[identity]Target
	keptUntil time.Time // while listings succeed
	failing   bool
	failedAt  time.Time // first failure, while failing

	links  map[identity]*link
	wanted map[identity]Target // as of the last plan
}

func newState(r rules, o *Options) *state {
	return &state{rules: r, retry: o.PollingInterval, grace: o.StoreFailureGrace, ttl: o.LeaseTTL, links: make(map[identity]*link)}
}

// succeed takes a complete listing of live rows. It tells whether the host's own is among them.
func (s *state) succeed(now time.Time, items []wire.PeerItem) (published bool) {
	if s.failing {
		s.failing = false
		s.kept, s.keptUntil = maps.Clone(s.wanted), now.Add(s.ttl)
	}
	s.listed = make(map[identity]Target)
	for _, item := range items {
		t := targetOf(item.Peer)
		delete(s.kept, t.Key.identity())
		published = published || s.isOwn(t)
		if s.dials(t) {
			s.listed[t.Key.identity()] = t
		}
	}
	s.redial()
	return published
}

// fail takes the failure of a listing. Connections that dropped wait for no other one: as long as dials are allowed at all, they
// are made again.
func (s *state) fail(now time.Time) {
	if !s.failing {
		s.failing, s.failedAt = true, now
	}
	s.redial()
}

// dialsAllowed tells whether the last complete listing is recent enough to dial by.
func (s *state) dialsAllowed(now time.Time) bool {
	return !s.failing || now.Sub(s.failedAt) < s.grace
}

// redial lets connections be made again that dropped.
func (s *state) redial() {
	maps.DeleteFunc(s.links, func(_ identity, l *link) bool { return l.phase == dropped })
}

// lost tells whether a connection waits for the next listing.
func (s *state) lost() bool {
	for _, l := range s.links {
		if l.phase == dropped {
			return true
		}
	}
	return false
}

// stands takes that a dial succeeded. It is ignored when the connection is not wanted any more.
func (s *state) stands(id identity) {
	if l := s.links[id]; l.phase == dialling {
		l.phase = connected
	}
}

// gone takes that nothing is left of a connection: the dial was refused, or it dropped, or it was closed.
func (s *state) gone(now time.Time, id identity) {
	switch l := s.links[id]; l.phase {
	case dialling:
		l.phase, l.retryAt = refused, now.Add(s.retry)
	case connected:
		l.phase = dropped
	default:
		delete(s.links, id)
	}
}

// actions are what is to be done.
type actions struct {
	dial, close   []Target
	added, ceased []string // endpoints by which the desired set has changed
}

// plan decides what is to be done now, and takes it for begun.
func (s *state) plan(now time.Time) actions {
	if !s.failing && !now.Before(s.keptUntil) {
		s.kept = nil
	}
	before := s.wanted
	s.wanted = s.desired()
	p := changes(before, s.wanted)
	for id, l := range s.links {
		t, ok := s.wanted[id]
		switch {
		case ok && t.same(l.target) || l.phase == closing:
		case l.held():
			l.phase = closing
			p.close = append(p.close, l.target)
		default:
			delete(s.links, id)
		}
	}
	for id, t := range s.wanted {
		if s.mayDial(now, id) {
			s.links[id] = &link{target: t, phase: dialling}
			p.dial = append(p.dial, t)
		}
	}
	return p
}

// desired are the targets that are wanted: a draining one only while there is a connection to it.
func (s *state) desired() map[identity]Target {
	all := make(map[identity]Target, len(s.listed)+len(s.kept))
	maps.Copy(all, s.kept)
	maps.Copy(all, s.listed)
	maps.DeleteFunc(all, func(id identity, t Target) bool {
		l := s.links[id]
		return t.Row.Draining && !(l != nil && l.held() && l.target.same(t))
	})
	return all
}

func (s *state) mayDial(now time.Time, id identity) bool {
	l := s.links[id]
	return s.dialsAllowed(now) && (l == nil || l.phase == refused && !now.Before(l.retryAt))
}

// changes tells by which endpoints two sets differ.
func changes(before, after map[identity]Target) actions {
	var p actions
	for id, t := range after {
		if old, ok := before[id]; !ok || !old.same(t) {
			p.added = append(p.added, t.Endpoint)
		}
	}
	for id, t := range before {
		if other, ok := after[id]; !ok || !other.same(t) {
			p.ceased = append(p.ceased, t.Endpoint)
		}
	}
	slices.Sort(p.added)
	slices.Sort(p.ceased)
	return p
}

// next is when plan would decide otherwise without anything happening; false when it would not.
func (s *state) next(now time.Time) (time.Time, bool) {
	var at time.Time
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.kept) > 0 && !s.failing {
		earlier(s.keptUntil)
	}
	for _, l := range s.links {
		if l.phase == refused && s.dialsAllowed(now) {
			earlier(l.retryAt)
		}
	}
	return at, !at.IsZero()
}

// connections counts those that stand.
func (s *state) connections() int {
	n := 0
	for _, l := range s.links {
		if l.phase == connected {
			n++
		}
	}
	return n
}
