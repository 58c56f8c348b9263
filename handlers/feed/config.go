package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
)

// duplicates is the shortest window for message ids that servers take. The fence already keeps
// every event from being stored twice; a longer window would only swallow events of a store that
// was restored from an older copy and gives out revisions again.
const duplicates = 100 * time.Millisecond

// ErrDrift says that the stream exists with settings under which the feed cannot keep its promises.
var ErrDrift = errors.New("stream has other settings")

func streamConfig(o Options) jetstream.StreamConfig {
	changes := o.Prefix.ChangesWildcard("", "", "")
	appends := ingest(o.Prefix).ChangesWildcard("", "", "")
	return jetstream.StreamConfig{
		Name:               subjects.ChangesStream,
		Description:        "committed changes of the zlink directory",
		Subjects:           []string{appends},
		SubjectTransform:   &jetstream.SubjectTransformConfig{Source: appends, Destination: transformed(changes)},
		RePublish:          &jetstream.RePublish{Source: changes, Destination: transformed(changes)},
		Storage:            jetstream.FileStorage,
		Replicas:           o.Replicas,
		Retention:          jetstream.LimitsPolicy,
		Discard:            jetstream.DiscardOld,
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgSize:         -1,
		MaxMsgsPerSubject:  -1,
		MaxConsumers:       -1,
		Duplicates:         duplicates,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{ownerBucket: o.Bucket, ownerPrefix: string(o.Prefix)},
	}
}

// ownerBucket and ownerPrefix are the names under which the stream's metadata say whose it is.
const (
	ownerBucket = "zlink.bucket"
	ownerPrefix = "zlink.prefix"
)

// ErrOwned says that the stream is that of another directory.
var ErrOwned = errors.New("stream belongs to another directory")

// owned tells whether the stream was made for another bucket or prefix.
func owned(have, want *jetstream.StreamConfig) error {
	for _, name := range []string{ownerBucket, ownerPrefix} {
		mine, theirs := want.Metadata[name], have.Metadata[name]
		if mine != "" && theirs != "" && mine != theirs {
			return fmt.Errorf("%w: %s is that of %s %q, not %q: an account has one directory; start with that one, "+
				"or give this one a NATS account of its own", ErrOwned, want.Name, strings.TrimPrefix(name, "zlink."), theirs, mine)
		}
	}
	return nil
}

// transformed names the wildcards of a subject as the destination of a mapping does.
func transformed(wildcard string) string {
	tokens, n := strings.Split(wildcard, "."), 0
	for i, t := range tokens {
		if t == "*" {
			n++
			tokens[i] = fmt.Sprintf("{{wildcard(%d)}}", n)
		}
	}
	return strings.Join(tokens, ".")
}

// Ensure creates the stream, or checks the one that is there.
//
// Errors: [ErrOwned], [ErrDrift] with what differs and how to mend it, those of the server.
func (f *Feed) Ensure(ctx context.Context) error {
	err := f.Check(ctx)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(f.o.Timeout, createTimeout))
	defer cancel()
	_, err = f.o.JetStream.CreateStream(ctx, f.stream.config)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("create stream %s: %w", subjects.ChangesStream, err)
	}
	return f.Check(ctx)
}

// createTimeout is how long a cluster may take to place a new stream.
const createTimeout = 10 * time.Second

// Check looks whether the stream is there and has the settings that the feed needs.
//
// Errors: [ErrOwned], [ErrDrift] with what differs and how to mend it, jetstream.ErrStreamNotFound,
// others of the server.
func (f *Feed) Check(ctx context.Context) error {
	info, err := f.stream.info(ctx)
	if err != nil {
		return err
	}
	want := f.stream.config
	if err := owned(&info.Config, &want); err != nil {
		return err
	}
	if differs := drift(&info.Config, &want); len(differs) > 0 {
		return fmt.Errorf("%w: %s: %s; mend it with `nats stream edit %[2]s`, or remove the stream with "+
			"`nats stream rm %[2]s` while no instance runs and the service makes it anew (subscribers lose the changes kept in it)",
			ErrDrift, want.Name, strings.Join(differs, ", "))
	}
	return nil
}

// drift lists the settings that matter to the feed and are not as they should be.
func drift(have, want *jetstream.StreamConfig) []string {
	var differs []string
	check := func(name string, have, want any) {
		if have != want {
			differs = append(differs, fmt.Sprintf("%s is %v and must be %v", name, have, want))
		}
	}
	if !slices.Equal(have.Subjects, want.Subjects) {
		check("subjects", strings.Join(have.Subjects, " "), strings.Join(want.Subjects, " "))
	}
	check("subject transform", mapping(have.SubjectTransform), mapping(want.SubjectTransform))
	check("republish", republishing(have.RePublish), republishing(want.RePublish))
	check("storage", have.Storage, want.Storage)
	check("retention", have.Retention, want.Retention)
	check("max_age", have.MaxAge, want.MaxAge)
	check("max_msgs", have.MaxMsgs, want.MaxMsgs)
	check("max_bytes", have.MaxBytes, want.MaxBytes)
	check("max_msgs_per_subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	check("deny_purge", have.DenyPurge, want.DenyPurge)
	check("sealed", have.Sealed, want.Sealed)
	check("no_ack", have.NoAck, want.NoAck)
	check("allow_atomic (needs NATS server 2.14.4 or newer)", have.AllowAtomicPublish, want.AllowAtomicPublish)
	return differs
}

func mapping(t *jetstream.SubjectTransformConfig) string {
	if t == nil {
		return "none"
	}
	return t.Source + " to " + t.Destination
}

func republishing(r *jetstream.RePublish) string {
	if r == nil {
		return "none"
	}
	text := mapping(&jetstream.SubjectTransformConfig{Source: r.Source, Destination: r.Destination})
	if r.HeadersOnly {
		text += " headers only"
	}
	return text
}
