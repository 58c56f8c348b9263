package domain

import (
	"encoding/binary"
	"errors"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// recordHead is the part of a record that indexes and stamps are made of. The
// store asks for it with every row that it stores or loads, a million times at a
// start, so it is read without the rest of the record: the other members are
// passed over, and whether they can be understood is for the rules to find out.
type recordHead struct {
	token       wire.OwnerToken
	entrySpotID string
}

// headOf reads the head of a record or returns a *kvstore.DataLostError.
func headOf(r *kvstore.Row) (h recordHead, err error) {
	body, err := recordBody(r.Value)
	if err != nil {
		return h, lost(r, err)
	}
	s := skimmer{rest: body}
	for pairs := s.open(majorMap); pairs > 0 && !s.broken; pairs-- {
		switch string(s.text()) {
		case "ownerId":
			h.token.OwnerID = string(s.text())
		case "leaseGeneration":
			h.token.LeaseGeneration = wire.Generation(s.open(majorUint))
		case "entrySpotId":
			h.entrySpotID = string(s.text())
		default:
			s.skip()
		}
	}
	if s.broken || h.token.OwnerID == "" || h.token.LeaseGeneration == 0 {
		return h, lost(r, errors.New("record without a legible owner token"))
	}
	return h, nil
}

// Major types of CBOR items, and one item.
const (
	majorUint  = 0
	majorBytes = 2
	majorText  = 3
	majorArray = 4
	majorMap   = 5
	majorTag   = 6

	null = 0xf6
)

// skimmer passes over CBOR. After anything unexpected it is broken and reads zero
// values.
type skimmer struct {
	rest   []byte
	broken bool
}

// head reads the head of an item: its major type and its number, which is the
// value or how many bytes or elements follow.
func (s *skimmer) head() (major byte, n uint64) {
	if s.broken || len(s.rest) == 0 {
		s.broken = true
		return 0, 0
	}
	first := s.rest[0]
	s.rest = s.rest[1:]
	major, n = first>>5, uint64(first&0x1f)
	if n < 24 {
		return major, n
	}
	var number [8]byte
	size := 1 << (n - 24) // 1, 2, 4 or 8 bytes
	if n > 27 || size > len(s.rest) {
		s.broken = true
		return 0, 0
	}
	copy(number[8-size:], s.rest)
	s.rest = s.rest[size:]
	return major, binary.BigEndian.Uint64(number[:])
}

// open reads the head of an item of a major type.
func (s *skimmer) open(want byte) uint64 {
	major, n := s.head()
	s.broken = s.broken || major != want
	return n
}

// text reads a text, or nil for a null, which stands for an absent one.
func (s *skimmer) text() []byte {
	if s.null() {
		return nil
	}
	return s.take(s.open(majorText))
}

// null passes over a null, if it is one.
func (s *skimmer) null() bool {
	if len(s.rest) == 0 || s.rest[0] != null {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *skimmer) take(n uint64) []byte {
	if s.broken || n > uint64(len(s.rest)) {
		s.broken = true
		return nil
	}
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}

// skip passes over one item and all within it.
func (s *skimmer) skip() {
	for items := uint64(1); items > 0 && !s.broken; items-- {
		major, n := s.head()
		switch major {
		case majorBytes, majorText:
			s.take(n)
		case majorArray, majorMap:
			if n > uint64(len(s.rest)) { // an element takes a byte at least
				s.broken = true
			}
			items += n * uint64(major-majorArray+1)
		case majorTag:
			items++
		}
	}
}
