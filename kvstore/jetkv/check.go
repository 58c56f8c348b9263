package jetkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
)

// Finding is one thing that Check looked at.
type Finding struct {
	Name   string // what was looked at
	OK     bool
	Detail string // what was found
	Mend   string // how to mend it, or what would be better although it is OK
}

// Check looks at everything that Open verifies, and at what makes a store work
// less well, without changing anything. It goes on after a finding that is not
// OK as far as the rest can still be looked at.
func Check(ctx context.Context, nc *nats.Conn, o Options) []Finding {
	found, s := inspect(ctx, nc, o)
	if s != nil {
		found = append(found, s.checkBatch(ctx))
	}
	return found
}

// Inspect is Check for a user who may not write: it leaves out what can only be
// found by trying to.
func Inspect(ctx context.Context, nc *nats.Conn, o Options) []Finding {
	found, _ := inspect(ctx, nc, o)
	return found
}

// inspect returns the store if its bucket is there.
func inspect(ctx context.Context, nc *nats.Conn, o Options) ([]Finding, *Store) {
	o.Conn = nc
	s, err := newStore(o)
	if err != nil {
		return []Finding{failing("JetStream", err.Error(), "check --js-domain")}, nil
	}
	found := []Finding{checkServer(nc), checkPayload(nc)}
	in, err := s.info(ctx)
	if err != nil {
		return append(found, s.checkUnreachable(ctx, err)), nil
	}
	return append(found, s.checkBucket(in.Config), s.checkClock()), s
}

func fine(name, detail string) Finding { return Finding{Name: name, OK: true, Detail: detail} }

func failing(name, detail, mend string) Finding {
	return Finding{Name: name, Detail: detail, Mend: mend}
}

func checkServer(nc *nats.Conn) Finding {
	name := "server version"
	if err := verifyServer(nc); err != nil {
		return failing(name, err.Error(), "upgrade the NATS server to "+MinServerVersion+" or later")
	}
	return fine(name, nc.ConnectedServerVersion()+" on "+nc.ConnectedServerName())
}

func checkPayload(nc *nats.Conn) Finding {
	name, detail := "max_payload", fmt.Sprintf("%d bytes", nc.MaxPayload())
	if nc.MaxPayload() < minPayload {
		return failing(name, detail+", values of 1 MiB do not fit", "set max_payload: 8MB in the NATS server's configuration")
	}
	return fine(name, detail)
}

// checkUnreachable tells a bucket that is not there yet from a JetStream that
// does not answer.
func (s *Store) checkUnreachable(ctx context.Context, err error) Finding {
	name := "bucket " + s.opts.Bucket
	_, account := s.js.AccountInfo(ctx)
	switch {
	case errors.Is(account, jetstream.ErrJetStreamNotEnabled), errors.Is(account, jetstream.ErrJetStreamNotEnabledForAccount):
		return failing("JetStream", account.Error(), "turn JetStream on in the server's configuration and for this account")
	case account != nil:
		return failing("JetStream", account.Error(),
			"allow this user "+s.api+">, and check that the JetStream cluster has a leader")
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamNotFound {
		return s.checkMissing(name)
	}
	return failing(name, err.Error(), "allow this user "+s.api+"STREAM.*."+s.stream)
}

// checkMissing looks whether a bucket that is not there could be made.
func (s *Store) checkMissing(name string) Finding {
	switch {
	case s.opts.HistoryFrom > 0:
		return failing(name, errBucketGone(&s.opts).Error(), "name the bucket that is in use with --bucket, or restore it")
	case s.opts.Replicas > 1 && s.nc.ConnectedClusterName() == "":
		return failing(name, fmt.Sprintf("%d replicas need a cluster, and this server is in none", s.opts.Replicas),
			"connect to a cluster, or leave out --replicas")
	}
	return fine(name, "not there yet; the first 'zlink-nats serve' makes it. Clock and batches are looked at then")
}

func (s *Store) checkBucket(c jetstream.StreamConfig) Finding {
	name := "bucket " + s.opts.Bucket
	if err := verifyBucket(c); err != nil {
		return failing(name, err.Error(), "nats stream edit "+s.stream)
	}
	f := fine(name, fmt.Sprintf("replicas: %d", c.Replicas))
	if c.Replicas < s.opts.Replicas {
		f.Mend = fmt.Sprintf("nats stream edit %s --replicas %d, or give --replicas %d", s.stream, s.opts.Replicas, c.Replicas)
	} else if c.Replicas > s.opts.Replicas { // to remove any is nothing to suggest: it is the default that asks for one
		f.Mend = fmt.Sprintf("give --replicas %d here and to 'zlink-nats serve'", c.Replicas)
	}
	return f
}

// clockTolerance is how far this machine's clock may be off the server's before
// it is worth a word; nothing depends on it.
const clockTolerance = time.Second

func (s *Store) checkClock() Finding {
	off := time.Duration(time.Now().UnixMilli()-int64(s.server.Now())) * time.Millisecond
	detail := fmt.Sprintf("this machine is %s off the server's clock, which is the one that counts", off)
	f := fine("clock", detail)
	if off.Abs() > clockTolerance {
		f.Mend = "synchronise the clocks of the servers and of this machine (NTP)"
	}
	return f
}

func (s *Store) checkBatch(ctx context.Context) Finding {
	name := "atomic batches"
	rows, err := s.probeBatch(ctx)
	switch {
	case isUnanswered(err):
		return failing(name, err.Error(), mendUnanswered(s.stream))
	case err != nil:
		return failing(name, err.Error(), "set allow_atomic to true on stream "+s.stream+
			", and allow this user to publish on "+s.prefix+">")
	case rows < kvstore.DefaultCommitRows:
		return failing(name, fmt.Sprintf("at most %d messages", rows),
			"set jetstream { limits { batch { max_msgs: 4096 } } } in the NATS server's configuration")
	}
	return fine(name, fmt.Sprintf("%d messages", rows))
}

// isUnanswered tells whether nobody answered, which says nothing about how the stream
// is set up.
func isUnanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
}

func mendUnanswered(stream string) string {
	return "the server did not answer in time, it is overloaded or out of reach: look at its load and disk, and with 'nats consumer report " +
		stream + "' for consumers that add up; a user who may not publish gets no answer either"
}
