package domain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

const (
	maxPageEntries = 1024
	maxPageBytes   = 1 << 20 // of the encoded entries
)

// stagedRecord is the body of a staged participant.
type stagedRecord struct {
	AuthorityKey         string               `json:"authorityKey"` // text form
	ExpectedStoreVersion wire.Version         `json:"expectedStoreVersion"`
	OwnerTransition      wire.OwnerTransition `json:"ownerTransition"`
	AuthorityPayload     wire.Bytes           `json:"authorityPayload"`
	MembershipMutation   wire.Bytes           `json:"membershipMutation"`
	Membership           *wire.Membership     `json:"membership,omitzero"`
}

// staged is a decoded staged participant, with its entry but for the index. It is kept
// with the row and shared.
type staged struct {
	stagedRecord
	payloadSHA256, mutationSHA256 [sha256.Size]byte
}

func stagedOf(r stagedRecord) *staged {
	return &staged{r, sha256.Sum256(r.AuthorityPayload), sha256.Sum256(r.MembershipMutation)}
}

func decodeStaged(r *kvstore.Row) (*staged, error) {
	var rec stagedRecord
	if err := decodeRecord(r, &rec); err != nil {
		return nil, err
	}
	return stagedOf(rec), nil
}

// authority is the key of the participant's authority.
func (s *stagedRecord) authority() kvstore.Key {
	return kvstore.NewKey(FamilyAuthority, s.AuthorityKey)
}

func (s *stagedRecord) moves() bool { return s.OwnerTransition == wire.OwnerNew }

// entry is the participant's line in the inventory.
func (s *staged) entry(index uint32) inventoryEntry {
	return inventoryEntry{
		Index: index, AuthorityKey: s.AuthorityKey, ExpectedStoreVersion: s.ExpectedStoreVersion,
		OwnerTransition: s.OwnerTransition, Membership: s.Membership,
		PayloadSHA256: s.payloadSHA256[:], MutationSHA256: s.mutationSHA256[:],
	}
}

// inventoryEntry is the line of one participant in the inventory.
type inventoryEntry struct {
	Index                uint32               `json:"index"`
	AuthorityKey         string               `json:"authorityKey"`
	ExpectedStoreVersion wire.Version         `json:"expectedStoreVersion"`
	OwnerTransition      wire.OwnerTransition `json:"ownerTransition"`
	Membership           *wire.Membership     `json:"membership,omitzero"`
	PayloadSHA256        wire.Bytes           `json:"payloadSha256"`
	MutationSHA256       wire.Bytes           `json:"mutationSha256"`
}

// authority is the key of the participant's authority.
func (e *inventoryEntry) authority() kvstore.Key {
	return kvstore.NewKey(FamilyAuthority, e.AuthorityKey)
}

// describes tells whether the entry is that of a staged participant.
func (e *inventoryEntry) describes(s *staged) bool {
	return e.AuthorityKey == s.AuthorityKey && e.ExpectedStoreVersion == s.ExpectedStoreVersion &&
		e.OwnerTransition == s.OwnerTransition && sameMembership(e.Membership, s.Membership) &&
		bytes.Equal(e.PayloadSHA256, s.payloadSHA256[:]) && bytes.Equal(e.MutationSHA256, s.mutationSHA256[:])
}

func sameMembership(a, b *wire.Membership) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// hash adds the entry to a digest of all entries, each part behind its length.
func (e *inventoryEntry) hash(h hash.Hash) {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 256), e.Index)
	text := func(s string) { b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...) }
	text(e.AuthorityKey)
	text(string(e.ExpectedStoreVersion))
	text(string(e.OwnerTransition))
	if m := e.Membership; m != nil {
		text(m.SpotID)
		b = binary.BigEndian.AppendUint64(b, uint64(m.SpotGeneration))
		text(string(m.SpotKind))
	}
	text(string(e.PayloadSHA256))
	text(string(e.MutationSHA256))
	h.Write(b)
}

// inventoryDigest is the digest of participants as an inventory of their own.
func inventoryDigest(participants []*staged) []byte {
	h := sha256.New()
	for i, s := range participants {
		e := s.entry(uint32(i))
		e.hash(h)
	}
	return h.Sum(nil)
}

// pageRecord is the body of a page of an inventory: participants that were staged
// together, at contiguous indexes.
type pageRecord struct {
	Entries wire.Bytes `json:"entries"` // encoded pageEntries
	SHA256  wire.Bytes `json:"sha256"`  // of Entries
}

type pageEntries struct {
	Entries []inventoryEntry `json:"entries"`
}

// inventoryPage is a decoded page. It is kept with the row and shared.
type inventoryPage struct {
	entries []inventoryEntry
	sha256  []byte
}

func (p *inventoryPage) first() uint32 { return p.entries[0].Index }

// encodePage writes the entries of a page.
func encodePage(entries []inventoryEntry) ([]byte, *inventoryPage, error) {
	b, err := wire.Marshal(wire.CBOR, &pageEntries{entries})
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(b)
	value, err := encodeRecord(&pageRecord{b, sum[:]})
	return value, &inventoryPage{entries, sum[:]}, err
}

func decodePage(r *kvstore.Row) (*inventoryPage, error) {
	var rec pageRecord
	if err := decodeRecord(r, &rec); err != nil {
		return nil, err
	}
	if !isDigestOf(rec.SHA256, rec.Entries) {
		return nil, lost(r, errors.New("inventory page does not have its digest"))
	}
	var list pageEntries
	if err := wire.Unmarshal(wire.CBOR, rec.Entries, &list); err != nil {
		return nil, lost(r, err)
	}
	p := &inventoryPage{list.Entries, rec.SHA256}
	if err := p.contradiction(r.Key); err != nil {
		return nil, lost(r, err)
	}
	return p, nil
}

func (p *inventoryPage) contradiction(k kvstore.Key) error {
	if len(p.entries) == 0 || len(p.entries) > maxPageEntries {
		return fmt.Errorf("inventory page of %d entries", len(p.entries))
	}
	f, err := fenceOf(k)
	if err != nil || indexKey(FamilyInventory, f, p.first()) != k {
		return fmt.Errorf("inventory page that begins at %d", p.first())
	}
	for i := range p.entries {
		if p.entries[i].Index != p.first()+uint32(i) {
			return fmt.Errorf("index %d at place %d of an inventory page from %d", p.entries[i].Index, i, p.first())
		}
	}
	return nil
}

// pageIndexes is what follows for indexes from a page of an inventory.
func pageIndexes(r *kvstore.Row) []kvstore.IndexEntry {
	p, err := kvstore.Decoded(r, decodePage)
	if err != nil {
		return []kvstore.IndexEntry{{Index: indexTakesPart, Value: unreadableValue}}
	}
	all := make([]kvstore.IndexEntry, len(p.entries))
	for i := range p.entries {
		all[i] = kvstore.IndexEntry{Index: indexTakesPart, Value: p.entries[i].AuthorityKey}
	}
	return all
}

// stagedIndexes is what follows for indexes from a staged participant.
func stagedIndexes(r *kvstore.Row) []kvstore.IndexEntry {
	value := unreadableValue
	if s, err := kvstore.Decoded(r, decodeStaged); err == nil {
		value = s.AuthorityKey
	}
	return []kvstore.IndexEntry{{Index: indexTakesPart, Value: value}}
}

// stagedSum names the sum that counts the staged participants of a fence.
func stagedSum(f wire.Fence) string { return string(fenceKey(FamilyParticipant, f)) }

// stagedAmounts is what follows for sums from a staged participant.
func stagedAmounts(r *kvstore.Row) []kvstore.Amount {
	f, err := fenceOf(r.Key)
	if err != nil {
		return nil
	}
	return []kvstore.Amount{{Sum: shared(stagedSum(f)), N: 1}}
}

// inventory is what is staged for a fence, checked: entries, and the participants and
// rows that they describe.
type inventory struct {
	pages   []*kvstore.Row
	digests []byte // of the pages, one after another
	entries []*inventoryEntry
	staged  []*staged
	rows    []*kvstore.Row // of staged
}

// readInventory reads all that is staged for a fence. complete is false when the
// indexes are not contiguous from 0. It returns a *kvstore.DataLostError for a page or
// a participant that is lost.
func readInventory(v kvstore.View, f wire.Fence) (inv *inventory, complete bool, err error) {
	inv, complete = new(inventory), true
	for r := range v.Scan(indexPrefix(FamilyInventory, f), "") {
		p, err := kvstore.Decoded(r, decodePage)
		if err != nil {
			return nil, false, err
		}
		complete = complete && int(p.first()) == len(inv.entries)
		inv.pages = append(inv.pages, r)
		inv.digests = append(inv.digests, p.sha256...)
		for i := range p.entries {
			inv.entries = append(inv.entries, &p.entries[i])
		}
	}
	return inv, complete, inv.readStaged(v, f)
}

// readStaged finds the participant of every entry.
func (inv *inventory) readStaged(v kvstore.View, f wire.Fence) error {
	i := 0
	for r := range v.Scan(indexPrefix(FamilyParticipant, f), "") {
		if i == len(inv.entries) {
			return lost(r, errors.New("staged participant that is in no inventory page"))
		}
		s, err := inv.entries[i].find(r, f)
		if err != nil {
			return err
		}
		inv.staged, inv.rows = append(inv.staged, s), append(inv.rows, r)
		i++
	}
	if i < len(inv.entries) {
		return &kvstore.DataLostError{
			Key: indexKey(FamilyParticipant, f, inv.entries[i].Index), Cause: errors.New("staged participant is missing"),
		}
	}
	return nil
}

// find returns the participant that the entry describes, whose row must be r.
func (e *inventoryEntry) find(r *kvstore.Row, f wire.Fence) (*staged, error) {
	if k := indexKey(FamilyParticipant, f, e.Index); r == nil || r.Key != k {
		return nil, &kvstore.DataLostError{Key: k, Cause: errors.New("staged participant is missing")}
	}
	s, err := kvstore.Decoded(r, decodeStaged)
	if err != nil {
		return nil, err
	}
	if !e.describes(s) {
		return nil, lost(r, errors.New("staged participant is not the one in the inventory"))
	}
	return s, nil
}

// ascending tells whether the participants are in key order, none twice.
func (inv *inventory) ascending() bool {
	for i := 1; i < len(inv.entries); i++ {
		if inv.entries[i-1].AuthorityKey >= inv.entries[i].AuthorityKey {
			return false
		}
	}
	return true
}

func (inv *inventory) pagesSHA256() []byte {
	sum := sha256.Sum256(inv.digests)
	return sum[:]
}

func (inv *inventory) entriesSHA256() []byte {
	h := sha256.New()
	for _, e := range inv.entries {
		e.hash(h)
	}
	return h.Sum(nil)
}

// isOf returns an error unless the inventory is the one that an aggregate was prepared
// with.
func (inv *inventory) isOf(r *aggregateRequest) error {
	switch {
	case len(inv.entries) != int(r.ParticipantCount) || len(inv.pages) != int(r.PageCount):
		return fmt.Errorf("inventory of %d participants on %d pages, want %d on %d",
			len(inv.entries), len(inv.pages), r.ParticipantCount, r.PageCount)
	case !bytes.Equal(inv.pagesSHA256(), r.PagesSHA256):
		return errors.New("inventory pages do not have their digest")
	}
	return nil
}

// sameRows tells whether the rows under a prefix are exactly these.
func sameRows(v kvstore.View, prefix kvstore.Key, rows []*kvstore.Row) bool {
	i := 0
	for r := range v.Scan(prefix, "") {
		if i == len(rows) || rows[i] != r {
			return false
		}
		i++
	}
	return i == len(rows)
}
