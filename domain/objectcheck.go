package domain

import (
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/zlink/zlink-nats/wire"
)

const (
	maxReferenceBytes = 1 << 20 // of a requestContentReference
	maxRequestBytes   = 1 << 20 // what a requestEncodedSize may say
	// maxDeadline keeps the expiry of a terminal record below 2^53, which JSON
	// numbers hold exactly.
	maxDeadline = 1<<53 - 1 - terminalRetention
)

// isDigestOf tells whether sum is the SHA-256 of data.
func isDigestOf(sum, data []byte) bool {
	want := sha256.Sum256(data)
	return string(sum) == string(want[:])
}

func (c *checks) objectKey(field string, k wire.ObjectKey) {
	c.that(k.Kind.Valid(), join(field, "kind"), string(k.Kind), "actor, userSpot or instanceSpot")
	c.identifier(join(field, "globalId"), k.GlobalID)
}

func (c *checks) payload(field string, b wire.Bytes) { c.size(field, len(b), maxValueBytes) }

func (c *checks) version(field string, v wire.Version) {
	c.that(v != "" && len(v) <= maxVersionBytes, field, string(v), "1..64 bytes")
}

func (c *checks) digest(field string, b wire.Bytes) {
	c.that(len(b) == sha256.Size, field, fmt.Sprintf("%d bytes", len(b)), "32 bytes")
}

// uuid checks an id that is written as a UUID in lower case, of any version.
func (c *checks) uuid(field, s string) {
	c.that(isUUID(s), field, s, "a UUID in lower case: 8-4-4-4-12 hexadecimal digits")
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

func (c *checks) target(field string, t wire.Target) {
	c.identifier(join(field, "meshName"), t.MeshName)
	c.rid(join(field, "nodeRid"), t.NodeRID)
	c.generation(join(field, "nodeLifecycleGeneration"), uint64(t.NodeLifecycleGeneration))
	c.token(join(field, "owner"), t.Owner)
}

func (c *checks) intentOf(field string, i *wire.CreationIntent) {
	c.identifier(join(field, "stableType"), i.StableType)
	c.that(isText(i.RequestContentReference, maxReferenceBytes), join(field, "requestContentReference"),
		fmt.Sprintf("%d bytes", len(i.RequestContentReference)), "1..1048576 bytes of UTF-8 without NUL")
	c.digest(join(field, "requestSha256"), i.RequestSHA256)
	c.uint(join(field, "requestEncodedSize"), i.RequestEncodedSize, 0, maxRequestBytes)
}

// capacity checks a vector of which something has to be positive.
func (c *checks) capacity(field string, v wire.Capacity) {
	c.within(field, checkCapacity(v))
	c.that(v.Actors > 0 || v.Spots > 0 || v.SpotType != nil, field, "nothing", "at least one count above 0")
}

func checkCapacity(v wire.Capacity) error {
	var c checks
	c.uint("actors", v.Actors, 0, maxLimit)
	c.uint("spots", v.Spots, 0, maxLimit)
	if t := v.SpotType; t != nil {
		c.that(t.ObjectKind.Valid(), "spotType.objectKind", string(t.ObjectKind), "userSpot or instanceSpot")
		c.identifier("spotType.stableType", t.StableType)
		c.uint("spotType.count", t.Count, 1, maxLimit)
	}
	return c.err
}

func (c *checks) exclude(field string, nodes []wire.Incarnation) {
	for i := range nodes {
		c.element(field, i, checkIncarnation(nodes[i]))
	}
}

func checkIncarnation(n wire.Incarnation) error {
	var c checks
	c.rid("rid", n.RID)
	c.generation("lifecycleGeneration", uint64(n.LifecycleGeneration))
	return c.err
}

func (c *checks) endedOwner(field string, o wire.EndedOwner) {
	c.that(o == "" || o.Valid(), field, string(o), "keep or release")
}

func (c *checks) membership(field string, m *wire.Membership, k wire.ObjectKey) {
	if m == nil {
		return
	}
	c.that(!k.IsSpot(), field, m.SpotID, "none, except for an actor")
	c.within(field, checkMembership(m))
}

func (c *checks) operation(field string, o wire.OperationKey) {
	c.rid(join(field, "sourceNodeRid"), o.SourceNodeRID)
	c.generation(join(field, "sourceNodeGeneration"), uint64(o.SourceNodeGeneration))
	c.that(o.OperationID != wire.OperationID{}, join(field, "operationId"), "0, 0", "not both halves 0")
}

func (c *checks) terminal(field string, t *wire.Terminal) {
	c.operation(join(field, "operation"), t.Operation)
	c.payload(join(field, "terminalEnvelope"), t.TerminalEnvelope)
	c.digest(join(field, "terminalEnvelopeSha256"), t.TerminalEnvelopeSHA256)
	c.that(c.err != nil || isDigestOf(t.TerminalEnvelopeSHA256, t.TerminalEnvelope), join(field, "terminalEnvelopeSha256"),
		"another digest", "the SHA-256 of terminalEnvelope")
	c.that(t.OperationDeadline >= 0 && t.OperationDeadline <= maxDeadline, join(field, "operationDeadline"),
		strconv.FormatInt(int64(t.OperationDeadline), 10), fmt.Sprintf("0..%d", maxDeadline))
}

// optionalUUID accepts the empty text as absent.
func (c *checks) optionalUUID(field, s string) {
	if s != "" {
		c.uuid(field, s)
	}
}

// only is form for a field that may be left out.
func (c *checks) only(field string, given, belongs bool, form string) {
	c.form(field, given, given && belongs, form)
}

// form refuses a field that is given and does not belong to the form of its part, or
// that is not given and does.
func (c *checks) form(field string, given, belongs bool, form string) {
	switch {
	case given && !belongs:
		c.refuse(field, "a value", "none with "+form)
	case !given && belongs:
		c.refuse(field, "", "a value with "+form)
	}
}
