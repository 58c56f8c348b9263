package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// checkChanges looks at the stream of changes.
func (c *doctorCmd) checkChanges(ctx context.Context, l *link, js jetstream.JetStream) finding {
	f := finding{Name: "stream " + subjects.ChangesStream, State: stateOK, Detail: "as it should be"}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	switch err := c.feed(l, js).Check(ctx); {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		f.State, f.Detail = stateWarn, "not there yet; 'zlink-nats serve' makes it"
	case err != nil:
		f.State, f.Detail = stateFail, err.Error()
	}
	return f
}

// manyConsumers is above what the instances of a service have: one each.
const manyConsumers = 16

// checkConsumers looks whether consumers pile up on the bucket's stream.
func (c *doctorCmd) checkConsumers(ctx context.Context, js jetstream.JetStream) finding {
	f := finding{Name: "consumers", State: stateOK}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	s, err := js.Stream(ctx, "KV_"+c.Bucket)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		f.Detail = "none yet"
		return f
	case err != nil:
		f.State, f.Detail = stateWarn, fmt.Sprintf("cannot be counted: %v", err)
		return f
	}
	n := s.CachedInfo().State.Consumers
	f.Detail = fmt.Sprintf("%s of stream KV_%s", plural(n, "consumer"), c.Bucket)
	if n > manyConsumers {
		f.State = stateWarn
		f.Mend = fmt.Sprintf("every write costs the server something for each consumer: see with 'nats consumer report KV_%[1]s' who has them, and remove those that nobody needs with 'nats consumer rm KV_%[1]s'", c.Bucket)
	}
	return f
}

// pagePayload carries the largest replies and requests: pages and opaque writes of 4 MiB.
const pagePayload = 8 << 20

// checkPages looks whether the largest requests and replies fit into a message.
func checkPages(l *link) finding {
	f := finding{Name: "message size", State: stateOK, Detail: "enough for pages and opaque writes of 4 MiB"}
	if l.MaxPayload() < pagePayload {
		f.State, f.Detail = stateWarn, fmt.Sprintf("%d bytes: pages and opaque writes of 4 MiB do not fit", l.MaxPayload())
		f.Mend = "set max_payload: 8MB in the NATS server's configuration"
	}
	return f
}

// checkPermissions tries what the service does, in ways that change nothing: on a
// subject that nobody uses, with a condition that cannot hold, or as a question
// that contradicts itself.
func (c *doctorCmd) checkPermissions(l *link) finding {
	f := finding{Name: "permissions", State: stateOK, Detail: "of this user are enough"}
	own := subjects.Prefix(c.Prefix).Instance("doctor-"+rand.Text()[:10], subjects.StatusGet)
	tries := []func() error{
		func() error { return subscribeOnce(l, own) },
		func() error { return l.Publish(own, nil) },
	}
	never := nats.Header{jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(uint64(kvstore.MaxRevision), 10)}}
	for _, subject := range []string{"$KV." + c.Bucket + ".doctor", c.Prefix + ".feed.changes.a.b.c"} {
		tries = append(tries, func() error { return l.PublishMsg(&nats.Msg{Subject: subject, Header: never}) })
	}
	for question, body := range map[string]string{
		"STREAM.CREATE.KV_" + c.Bucket:           `{"name":"doctor"}`,
		"CONSUMER.CREATE.KV_" + c.Bucket:         `{"stream_name":"doctor"}`,
		"STREAM.MSG.GET.KV_" + c.Bucket:          `{"last_by_subj":"doctor","seq":1}`,
		"STREAM.PURGE." + subjects.ChangesStream: `{"keep":1,"seq":1}`,
	} {
		tries = append(tries, func() error { return l.Publish(l.api()+question, []byte(body)) })
	}
	for _, try := range tries {
		if err := permitted(l, c.Timeout, try); err != nil {
			f.State, f.Detail = stateFail, err.Error()
			f.Mend = fmt.Sprintf("let the service's user publish and subscribe to %s.>, $KV.%s.>, %s> and _INBOX.>; give the users of its clients less, as deploy/nats/accounts.conf does, and run this with --operator as one of them",
				c.Prefix, c.Bucket, l.api())
			return f
		}
	}
	return f
}

func subscribeOnce(l *link, subject string) error {
	s, err := l.SubscribeSync(subject)
	if err != nil {
		return err
	}
	return errors.Join(l.Flush(), s.Unsubscribe())
}

// permitted does something and returns the server's objection to it. The server
// answers a flush after everything that it thinks of what came before.
func permitted(l *link, timeout time.Duration, do func() error) error {
	before := l.LastError()
	if err := errors.Join(do(), l.FlushTimeout(timeout)); err != nil {
		return err
	}
	if err := l.LastError(); err != before { //nolint:errorlint // whether it is another one
		return err
	}
	return nil
}

// checkService asks whether somebody serves, and how that goes.
func (c *doctorCmd) checkService(l *link) []finding {
	f := finding{Name: "service", State: stateOK}
	reply, err := exchange(l, &c.Client, subjects.StatusGet, nil)
	if err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return []finding{f}
	}
	var s wire.StatusGetReply
	if err := wire.UnmarshalLenient(wire.JSON, reply, &s); err != nil {
		f.State, f.Detail = stateWarn, fmt.Sprintf("answers, but not as this version of zlink-nats understands: %v", err)
		f.Mend = "use the zlink-nats of the version that the service runs"
		return []finding{f}
	}
	f.Detail = fmt.Sprintf("instance %s, version %s, revision %d", s.InstanceID, s.Version, s.Revision)
	if !s.StoreHealthy {
		f.State, f.Detail = stateFail, fmt.Sprintf("instance %s cannot reach its store: %s", s.InstanceID, s.LastError)
		f.Mend = "look whether the stream KV_" + c.Bucket + " has a leader and its servers are up: 'nats stream info KV_" + c.Bucket + "' and 'nats server report jetstream'"
	}
	return []finding{f, checkRows(&s), checkAggregates(&s), checkPushed(&s)}
}
