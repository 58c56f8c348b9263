package domain

import (
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// maxStageBytes bounds the staged bytes of one commit: participants beyond it go into the
// next.
const maxStageBytes = 4 << 20

// Staging is a request to stage participants, as its commits need it.
type Staging struct {
	fence        wire.Fence
	start        uint32
	participants []*staged
	values       [][]byte // encoded, by place
}

// NewStaging makes the staging of a checked request. The only error is text that is not
// UTF-8.
func NewStaging(req *wire.AggregateStageRequest) (*Staging, error) {
	return newStaging(req.Fence, req.StartIndex, req.Participants)
}

func newStaging(f wire.Fence, start uint32, participants []wire.AggregateParticipant) (*Staging, error) {
	s := &Staging{fence: f, start: start}
	for i := range participants {
		p := &participants[i]
		st := stagedOf(stagedRecord{
			AuthorityKey: p.AuthorityKey.Text(), ExpectedStoreVersion: p.ExpectedStoreVersion, OwnerTransition: p.OwnerTransition,
			AuthorityPayload: p.AuthorityPayload, MembershipMutation: p.MembershipMutation, Membership: p.Membership,
		})
		value, err := encodeRecord(&st.stagedRecord)
		if err != nil {
			return nil, err
		}
		s.participants, s.values = append(s.participants, st), append(s.values, value)
	}
	return s, nil
}

// StageAggregate stores as many of the participants that are not staged yet as fit into
// one commit. A nil reply says that there are further ones, for the next call: what is
// staged is not visible, and staging it again changes nothing.
//
// Reads: the aggregate, the staged participants of the range. Writes: these, pages of
// the inventory, the deadline of the aggregate. Answers staged or conflict. Errors:
// *kvstore.DataLostError and those of tx.Put.
func StageAggregate(tx *kvstore.Tx, s *Staging) (*wire.AggregateStageReply, error) {
	conflict := &wire.AggregateStageReply{Kind: wire.KindConflict}
	a, err := findAggregate(tx.View, s.fence)
	if err != nil {
		return nil, err
	}
	if a != nil && !a.is(wire.AggregateCollecting) {
		return conflict, nil
	}
	missing, ok, err := s.missing(tx.View)
	if err != nil {
		return nil, err
	}
	if !ok {
		return conflict, nil
	}
	runs, _ := s.runs(missing, tx.Limits())
	if err := s.store(tx, runs); err != nil || len(slices.Concat(runs...)) < len(missing) {
		return nil, err
	}
	return &wire.AggregateStageReply{Kind: wire.KindStaged, Count: uint32(tx.Sum(stagedSum(s.fence)) + int64(len(missing)))}, nil
}

// missing lists the places of the participants that are not staged; ok is false when one
// is staged with other content.
func (s *Staging) missing(v kvstore.View) (missing []int, ok bool, err error) {
	get := v.State().Getter()
	for i := range s.participants {
		r := get(s.key(i))
		switch {
		case r == nil:
			missing = append(missing, i)
		case string(r.Value) != string(s.values[i]):
			_, err := kvstore.Decoded(r, decodeStaged)
			return nil, false, err
		}
	}
	return missing, true, nil
}

func (s *Staging) key(i int) kvstore.Key {
	return indexKey(FamilyParticipant, s.fence, s.start+uint32(i))
}

// stageCommitRows bounds the rows of one commit of a staging. A thousand take the store
// as long as the smallest commit of many; more would stand in the way of others.
const stageCommitRows = 1100

// runs cuts places into what becomes a page of the inventory each, as much as fits into
// one commit but one participant at least, and returns how many rows that commit has.
func (s *Staging) runs(missing []int, limits kvstore.Limits) (runs [][]int, rows int) {
	rows = 1 // the aggregate
	most := min(limits.CommitRows, stageCommitRows)
	for bytes := 0; len(missing) > 0 && (runs == nil || rows+2 <= most && bytes < maxStageBytes); {
		n, size := s.run(missing, most-rows-1, maxStageBytes-bytes)
		runs, missing = append(runs, missing[:n]), missing[n:]
		rows, bytes = rows+1+n, bytes+size
	}
	return runs, rows
}

// store stages participants, with the aggregate and a page of the inventory for each run
// of them.
func (s *Staging) store(tx *kvstore.Tx, runs [][]int) error {
	a := &aggregate{aggregateRecord: aggregateRecord{
		Fence: s.fence, State: wire.AggregateCollecting, Deadline: wire.Instant(tx.Now()) + collectingTTL,
	}}
	if err := a.put(tx); err != nil {
		return err
	}
	for _, places := range runs {
		if err := s.putRun(tx, places); err != nil {
			return err
		}
	}
	return nil
}

// run is how many of the places are contiguous and fit into a page, rows and bytes. One
// at least, whatever its size.
func (s *Staging) run(places []int, rows, bytes int) (n, size int) {
	const entryBytes = 512 // an entry without its key and membership, at most
	page := 0
	for n < len(places) && n < min(max(rows, 1), maxPageEntries) && places[n] == places[0]+n {
		p := s.participants[places[n]]
		entry := entryBytes + len(p.AuthorityKey)
		if p.Membership != nil {
			entry += len(p.Membership.SpotID)
		}
		value := len(s.values[places[n]])
		if n > 0 && (page+entry > maxPageBytes || size+value > bytes) {
			break
		}
		page, size, n = page+entry, size+value, n+1
	}
	return n, size
}

// putRun stores contiguous participants and their page.
func (s *Staging) putRun(tx *kvstore.Tx, places []int) error {
	entries := make([]inventoryEntry, len(places))
	for i, at := range places {
		entries[i] = s.participants[at].entry(s.start + uint32(at))
	}
	value, page, err := encodePage(entries)
	if err != nil {
		return err
	}
	k := indexKey(FamilyInventory, s.fence, page.first())
	if _, err := tx.PutDecoded(k, value, page, 0); err != nil {
		return err
	}
	for _, at := range places {
		if _, err := tx.PutDecoded(s.key(at), s.values[at], s.participants[at], 0); err != nil {
			return err
		}
	}
	return nil
}
