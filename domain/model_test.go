package domain_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// model answers requests as docs/domain.md says, with plain maps and loops. It shares
// no code with the rules: where both agree on every reply, both understood the same.
// It numbers revisions itself, so it knows every version and generation.
type model struct {
	now        wire.Instant
	revision   kvstore.Revision
	rows       int // commit limit
	leases     map[string]modelLease
	nodes      map[wire.DescriptorKey]modelNode
	objects    map[string]modelObject // by the text form of their keys
	terminals  map[wire.OperationKey]wire.TerminalRecord
	marks      map[string]wire.Instant // expiry, by markName
	aggregates map[wire.Fence]*modelAggregate
}

// modelLease is a lease that was not released. It may have lapsed.
type modelLease struct {
	token   wire.OwnerToken
	expires wire.Instant
	claimID string
}

// modelNode is a mesh-node descriptor.
type modelNode struct {
	wire.MeshNodeDescriptor
	version wire.Version
}

// modelObject is an authority. The snapshot has no kind, live and storeNow.
type modelObject struct {
	wire.Authority
	globalID      string
	reservationID string // empty after a reincarnation
}

func newModel(start kvstore.Revision, rows int) *model {
	return &model{
		now: t0, revision: start, rows: rows,
		leases:     make(map[string]modelLease),
		nodes:      make(map[wire.DescriptorKey]modelNode),
		objects:    make(map[string]modelObject),
		terminals:  make(map[wire.OperationKey]wire.TerminalRecord),
		marks:      make(map[string]wire.Instant),
		aggregates: make(map[wire.Fence]*modelAggregate),
	}
}

// take numbers n rows of a commit, and returns the first number; false when there are
// not so many left. 1.3
func (m *model) take(n int) (first kvstore.Revision, ok bool) {
	if kvstore.MaxRevision-m.revision < kvstore.Revision(n) {
		return 0, false
	}
	m.revision += kvstore.Revision(n)
	return m.revision - kvstore.Revision(n) + 1, true
}

func modelVersion(r kvstore.Revision) wire.Version {
	return wire.Version(strconv.FormatUint(uint64(r), 10))
}

// live is 1.4.
func (m *model) live(t wire.OwnerToken) bool {
	l, ok := m.leases[t.OwnerID]
	return ok && l.token == t && l.expires > m.now
}

// modelText is the text form of a key: 1.7.
func modelText(k wire.ObjectKey) string {
	letter := "s"
	if k.Kind == wire.ObjectActor {
		letter = "a"
	}
	var id strings.Builder
	for _, b := range []byte(k.GlobalID) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", b) >= 0 {
			id.WriteByte(b)
		} else {
			fmt.Fprintf(&id, "%%%02X", b)
		}
	}
	return fmt.Sprintf("zla1:%s:%d:%s", letter, len(k.GlobalID), id.String())
}

func markName(k wire.ObjectKey, reservationID string) string {
	return modelText(k) + " " + reservationID
}

// lapsed counts the rows whose expiry has come, which are there until somebody takes
// them away or replaces them.
func (m *model) lapsed() (n int) {
	for _, l := range m.leases {
		n += one(l.expires <= m.now)
	}
	for _, t := range m.terminals {
		n += one(t.ExpiresAt <= m.now)
	}
	for _, expires := range m.marks {
		n += one(expires <= m.now)
	}
	for f := range m.aggregates {
		n += one(m.aggregate(f) == nil)
	}
	return n
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sweep takes the lapsed rows away, each with a revision of its own.
func (m *model) sweep() {
	m.take(m.lapsed())
	for owner, l := range m.leases {
		if l.expires <= m.now {
			delete(m.leases, owner)
		}
	}
	for operation, t := range m.terminals {
		if t.ExpiresAt <= m.now {
			delete(m.terminals, operation)
		}
	}
	for name, expires := range m.marks {
		if expires <= m.now {
			delete(m.marks, name)
		}
	}
	for f := range m.aggregates {
		if m.aggregate(f) == nil {
			delete(m.aggregates, f)
		}
	}
}

// claim, renew, release and readLease are section 2.
func (m *model) claim(req *wire.LeaseClaimRequest) (*wire.LeaseClaimReply, error) {
	l, ok := m.leases[req.OwnerID]
	if ok && l.expires > m.now {
		if req.ClaimID != "" && req.ClaimID == l.claimID {
			return &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &l.token, LeaseExpiresAt: l.expires, StoreNow: m.now}, nil
		}
		return &wire.LeaseClaimReply{Kind: wire.KindConflict, StoreNow: m.now}, nil
	}
	g, ok := m.take(1)
	if !ok {
		return &wire.LeaseClaimReply{Kind: wire.KindGenerationExhausted}, nil
	}
	l = modelLease{
		wire.OwnerToken{OwnerID: req.OwnerID, LeaseGeneration: wire.Generation(g)},
		m.now + wire.Instant(req.TTL), req.ClaimID,
	}
	m.leases[req.OwnerID] = l
	return &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &l.token, LeaseExpiresAt: l.expires, StoreNow: m.now}, nil
}

func (m *model) renew(req *wire.LeaseRenewRequest) (*wire.LeaseRenewReply, error) {
	if !m.live(req.Token) {
		return &wire.LeaseRenewReply{Kind: wire.KindStale}, nil
	}
	if _, ok := m.take(1); !ok {
		return nil, kvstore.ErrExhausted
	}
	l := m.leases[req.Token.OwnerID]
	l.expires = m.now + wire.Instant(req.TTL)
	m.leases[req.Token.OwnerID] = l
	return &wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: l.expires, StoreNow: m.now}, nil
}

func (m *model) release(req *wire.LeaseReleaseRequest) (*wire.LeaseReleaseReply, error) {
	if !m.live(req.Token) {
		return &wire.LeaseReleaseReply{Kind: wire.KindStale}, nil
	}
	if _, ok := m.take(1); !ok {
		return nil, kvstore.ErrExhausted
	}
	delete(m.leases, req.Token.OwnerID)
	return &wire.LeaseReleaseReply{Kind: wire.KindReleased}, nil
}

func (m *model) readLease(req *wire.LeaseReadRequest) *wire.LeaseReadReply {
	l, ok := m.leases[req.OwnerID]
	if !ok || l.expires <= m.now {
		return &wire.LeaseReadReply{Kind: wire.KindMissing, StoreNow: m.now}
	}
	return &wire.LeaseReadReply{Kind: wire.KindFound, Token: &l.token, LeaseExpiresAt: l.expires, StoreNow: m.now}
}

// removable lists what removeAll of a token takes: section 10.
func (m *model) removable(t wire.OwnerToken) (objects []string, nodes []wire.DescriptorKey) {
	if !m.live(t) {
		return nil, nil
	}
	for text, o := range m.objects {
		if o.token() == t && !m.locked(text) {
			objects = append(objects, text)
		}
	}
	for k, d := range m.nodes {
		if d.OwnerID == t.OwnerID && d.LeaseGeneration <= t.LeaseGeneration {
			nodes = append(nodes, k)
		}
	}
	return objects, nodes
}

func (m *model) removeAll(t wire.OwnerToken) (removed int) {
	objects, nodes := m.removable(t)
	for _, text := range objects {
		delete(m.objects, text)
	}
	for _, k := range nodes {
		delete(m.nodes, k)
	}
	m.take(len(objects) + len(nodes))
	return len(objects) + len(nodes)
}
