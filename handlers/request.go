package handlers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// headerRequest identifies a request that was forwarded, so that only one of two instances carries it out.
const headerRequest = "Zlink-Request"

// maxRequestID is the greatest length of a request id in bytes, as the store has it.
const maxRequestID = 64

// message is what a request is made of. Its parts are owned by the request.
type message struct {
	header  nats.Header
	data    []byte
	replyTo string // empty when nobody waits for the answer
	direct  bool   // arrived on the subject of this instance alone, so it is not forwarded again
	sender  sender // on whose subject it arrived
}

// request is a message whose headers were understood.
type request struct {
	message
	start    time.Time // of its work here, by the machine's clock
	encoding wire.Encoding
	arrived  kvstore.Instant
	deadline kvstore.Instant  // when nobody waits any more
	min      kvstore.Revision // what a read must have seen; 0: nothing
	leader   bool             // a read first catches up with the leader
	id       string           // given by the instance that forwarded it; else empty
	span     trace.Span       // of the work here; nil when nobody traces
}

// readHeaders understands the headers of a message that arrived at now. The encoding is set in any case, for the refusal.
// Errors: *wire.InvalidError whose field is the header's name.
func (r *request) readHeaders(now kvstore.Instant, timeout kvstore.Instant) error {
	enc, err := wire.DetectEncoding(first(r.header, wire.HeaderContentType), r.data)
	if err != nil {
		r.encoding, _ = wire.DetectEncoding("", r.data)
		return err
	}
	r.encoding, r.arrived, r.deadline = enc, now, now+timeout
	if len(r.header) == 0 {
		return nil
	}
	if text, ok := lookup(r.header, wire.HeaderDeadline); ok {
		if r.deadline, err = instant(wire.HeaderDeadline, text); err != nil {
			return err
		}
	}
	if text, ok := lookup(r.header, wire.HeaderMinRevision); ok {
		n, err := number(wire.HeaderMinRevision, text, "a revision of 0..2^63-1 in decimal")
		if err != nil {
			return err
		}
		r.min = kvstore.Revision(n)
	}
	if text, ok := lookup(r.header, wire.HeaderConsistency); ok {
		if text != wire.ConsistencyLeader {
			return &wire.InvalidError{Field: wire.HeaderConsistency, Got: text, Want: wire.ConsistencyLeader}
		}
		r.leader = true
	}
	return r.readID()
}

// readID takes the request id from a forwarded request; from a client it means nothing.
func (r *request) readID() error {
	text, ok := lookup(r.header, headerRequest)
	if !ok || !r.direct {
		return nil
	}
	if text == "" || len(text) > maxRequestID {
		return &wire.InvalidError{Field: headerRequest, Got: text, Want: "1.." + strconv.Itoa(maxRequestID) + " bytes"}
	}
	r.id = text
	return nil
}

// patience is how long the request may take from its arrival on, at most so long.
func (r *request) patience(most time.Duration) time.Duration {
	left := min(r.deadline-r.arrived, kvstore.Instant(most.Milliseconds()))
	return time.Duration(left) * time.Millisecond
}

// left is what is left of the time that the request may take.
func (r *request) left() time.Duration { return r.patience(maxWait) - time.Since(r.start) }

// late tells whether nobody waited for the answer any more when the request arrived.
func (r *request) late() bool { return r.deadline <= r.arrived }

func (r *request) readOptions() kvstore.ReadOptions {
	return kvstore.ReadOptions{MinRevision: r.min, Leader: r.leader}
}

// lookup finds a header by its exact name, as NATS does; of several values it takes the first.
func lookup(h nats.Header, name string) (string, bool) {
	if values := h[name]; len(values) > 0 {
		return values[0], true
	}
	return "", false
}

func first(h nats.Header, name string) string {
	text, _ := lookup(h, name)
	return text
}

// number reads a decimal of 0..2^63-1.
func number(header, text, want string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, &wire.InvalidError{Field: header, Got: text, Want: want}
	}
	return n, nil
}

// instant reads an instant in decimal. Those before 1970 have all passed, so they are 0.
func instant(header, text string) (kvstore.Instant, error) {
	digits, negative := strings.CutPrefix(text, "-")
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case err != nil:
		return 0, &wire.InvalidError{Field: header, Got: text, Want: "an instant in milliseconds, in decimal"}
	case negative:
		return 0, nil
	}
	return kvstore.Instant(n), nil
}

// decode reads the payload and validates it; only then does it look at the deadline. Errors: *wire.InvalidError,
// *wire.TooLargeError, kvstore.ErrDeadline.
func decode[Req any](r *request, validate func(*Req) error) (*Req, error) {
	req := new(Req)
	if err := wire.Unmarshal(r.encoding, r.data, req); err != nil {
		return nil, err
	}
	if err := validate(req); err != nil {
		return nil, err
	}
	if r.late() {
		return nil, fmt.Errorf("%w: %d on arrival at %d", kvstore.ErrDeadline, r.deadline, r.arrived)
	}
	return req, nil
}
