package domain

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zlink/zlink-nats/wire"
)

// The limits of requests. Sizes are in bytes.
const (
	maxIdentifierBytes = 255
	maxRIDBytes        = 255
	maxEndpointBytes   = 1024 // also of a security identity
	maxClaimIDBytes    = 64
	maxVersionBytes    = 64
	maxTokenBytes      = 4096 // continuation token or cursor
	maxWeight          = 10_000
	maxLimit           = math.MaxInt32
	maxGeneration      = math.MaxInt64
	maxValueBytes      = 1 << 20 // payload, value, encoded row
	maxElements        = 1024    // object capabilities, spot types of a capacity
	// maxMillis keeps every instant that is now plus a duration below 2^53, which
	// JSON numbers hold exactly.
	maxMillis = 1 << 52
)

// checks finds the first thing that is wrong with a request or a part of it. All
// methods do nothing once something is.
type checks struct{ err error }

// refuse notes that a field holds what it must not.
func (c *checks) refuse(field, got, want string) {
	if c.err == nil {
		c.err = &wire.InvalidError{Field: field, Got: got, Want: want}
	}
}

// that refuses a field unless ok.
func (c *checks) that(ok bool, field, got, want string) {
	if !ok {
		c.refuse(field, got, want)
	}
}

// within notes what is wrong with a part of the request. The error's path begins
// below the part.
func (c *checks) within(part string, err error) {
	if err == nil || c.err != nil {
		return
	}
	var invalid *wire.InvalidError
	var large *wire.TooLargeError
	switch {
	case errors.As(err, &invalid):
		invalid.Field = join(part, invalid.Field)
	case errors.As(err, &large):
		large.Field = join(part, large.Field)
	}
	c.err = err
}

func join(part, field string) string {
	if part == "" || field == "" {
		return part + field
	}
	return part + "." + field
}

// element is within for an element of a list.
func (c *checks) element(list string, i int, err error) {
	if err != nil {
		c.within(fmt.Sprintf("%s[%d]", list, i), err)
	}
}

// named is within for a value under a name that the caller chose. A name that
// would not be legible in a path is quoted.
func (c *checks) named(field, name string, err error) {
	if err == nil {
		return
	}
	if quoted := strconv.Quote(name); name == "" || quoted != `"`+name+`"` {
		c.within(field+"["+quoted+"]", err)
		return
	}
	c.within(field+"."+name, err)
}

func (c *checks) identifier(field, s string) {
	c.that(isText(s, maxIdentifierBytes), field, s, "1..255 bytes of UTF-8 without NUL")
}

// optionalIdentifier accepts the empty text as absent.
func (c *checks) optionalIdentifier(field, s string) {
	if s != "" {
		c.identifier(field, s)
	}
}

func (c *checks) endpoint(field, s string) {
	c.that(isText(s, maxEndpointBytes), field, s, "1..1024 bytes of UTF-8 without NUL")
}

// isText tells whether s is 1..limit bytes of UTF-8 without NUL.
func isText(s string, limit int) bool {
	return s != "" && len(s) <= limit && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

func (c *checks) rid(field string, r wire.RID) {
	c.that(r != "" && len(r) <= maxRIDBytes, field, string(r), "1..255 bytes")
}

func (c *checks) generation(field string, n uint64) {
	c.that(n >= 1 && n <= maxGeneration, field, strconv.FormatUint(n, 10), "1..9223372036854775807")
}

func (c *checks) uint(field string, n, least, most uint32) {
	if n < least || n > most {
		c.refuse(field, strconv.FormatUint(uint64(n), 10), fmt.Sprintf("%d..%d", least, most))
	}
}

func (c *checks) duration(field string, d wire.Millis) {
	c.that(d >= 1 && d <= maxMillis, field, strconv.FormatInt(int64(d), 10), "1..4503599627370496 ms")
}

func (c *checks) token(field string, t wire.OwnerToken) {
	c.within(field, checkToken(t))
}

func checkToken(t wire.OwnerToken) error {
	var c checks
	c.identifier("ownerId", t.OwnerID)
	c.generation("leaseGeneration", uint64(t.LeaseGeneration))
	return c.err
}

func (c *checks) intent(i wire.Intent) {
	c.that(i.Valid(), "intent", string(i), "newClaim, renew or takeover")
}

func (c *checks) nodeState(field string, s wire.NodeState) {
	c.that(s.Valid(), field, string(s), "a state of a node")
}

// page checks what every request of a list holds.
func (c *checks) page(p *wire.PageRequest) {
	if p.PageSize != 0 { // absent
		c.uint("pageSize", p.PageSize, 1, MaxPageItems)
	}
	c.cursor("continuationToken", p.ContinuationToken)
}

func (c *checks) cursor(field, token string) {
	c.that(len(token) <= maxTokenBytes, field, token, "1..4096 bytes")
}

// size refuses bytes above a limit.
func (c *checks) size(field string, n, limit int) {
	if c.err == nil && n > limit {
		c.err = &wire.TooLargeError{Field: field, Limit: limit, Got: n}
	}
}
