package jetkv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
)

const (
	// MinServerVersion is the first server whose atomic batches check every
	// condition right.
	MinServerVersion = "2.14.4"
	// historyDepth is how many versions of a row the log keeps: the one that
	// everybody has seen, and two more that may be written before the change
	// feed has published the first of them (see DESIGN.md).
	historyDepth = 3
	// duplicateWindow is how long the server remembers message ids. Nothing
	// depends on it: chains use ids to name their predecessors.
	duplicateWindow = time.Second
	// messageOverhead is what headers, at most, add to a row's key and value.
	messageOverhead = 1024
	// typicalOverhead is what they usually add.
	typicalOverhead = 256
	// minPayload lets a value of 1 MiB through.
	minPayload = 1<<20 + kvstore.MaxKeyBytes + messageOverhead
)

// streamName is the JetStream stream of a KV bucket.
func streamName(bucket string) string { return "KV_" + bucket }

// bucketConfig is the configuration that the store needs. A KV client can read
// such a bucket; it must not create or update it, since that can turn atomic
// batches off.
func bucketConfig(o *Options) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               streamName(o.Bucket),
		Description:        "rows of the zlink location directory",
		Subjects:           []string{subjectPrefix(o.Bucket) + ">"},
		Storage:            jetstream.FileStorage,
		Replicas:           o.Replicas,
		MaxMsgsPerSubject:  historyDepth,
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgSize:         -1,
		MaxConsumers:       -1,
		Discard:            jetstream.DiscardNew,
		Duplicates:         duplicateWindow,
		AllowDirect:        true,
		AllowRollup:        true,
		DenyDelete:         true,
		AllowMsgTTL:        true,
		AllowAtomicPublish: true,
		FirstSeq:           uint64(o.FirstRevision),
	}
}

// ensureBucket creates the bucket or verifies the one there is.
func ensureBucket(ctx context.Context, js jetstream.JetStream, o *Options) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, streamName(o.Bucket))
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		if o.HistoryFrom > 0 {
			return nil, errBucketGone(o)
		}
		s, err = js.CreateStream(ctx, bucketConfig(o))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another instance was faster
			s, err = js.Stream(ctx, streamName(o.Bucket))
		}
		if err != nil && o.Replicas > 1 {
			return nil, fmt.Errorf("create bucket %q with %d replicas, which needs a cluster of as many servers: %w",
				o.Bucket, o.Replicas, err)
		}
		if err != nil {
			return nil, fmt.Errorf("create bucket %q: %w", o.Bucket, err)
		}
	case err != nil:
		return nil, fmt.Errorf("look up bucket %q: %w", o.Bucket, err)
	}
	if err := verifyBucket(s.CachedInfo().Config); err != nil {
		return nil, err
	}
	return s, nil
}

// errBucketGone refuses to begin an empty directory where there was one.
func errBucketGone(o *Options) error {
	return fmt.Errorf("bucket %q is gone, but changes up to revision %d were published from it: "+
		"restore stream %s from its backup, or delete the stream of changes to begin an empty directory "+
		"whose generations begin again", o.Bucket, o.HistoryFrom, streamName(o.Bucket))
}

// verifyBucket returns the settings that keep the store from working, with the
// sentence that mends them.
func verifyBucket(c jetstream.StreamConfig) error {
	var wrong []string
	check := func(ok bool, setting string, want any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s must be %v", setting, want))
		}
	}
	check(c.AllowAtomicPublish, "allow_atomic", true)
	check(c.AllowRollup, "allow_rollup_hdrs", true)
	check(!c.DenyPurge, "deny_purge", false)
	check(c.AllowMsgTTL, "allow_msg_ttl", true)
	check(c.AllowDirect, "allow_direct", true)
	check(c.MaxMsgsPerSubject == historyDepth, "max_msgs_per_subject", historyDepth)
	check(c.MaxAge == 0, "max_age", 0)
	check(c.MaxMsgs <= 0, "max_msgs", -1)
	check(c.Discard == jetstream.DiscardNew, "discard", "new")
	check(c.Storage == jetstream.FileStorage, "storage", "file")
	check(c.SubjectDeleteMarkerTTL == 0, "subject_delete_marker_ttl", 0)
	check(!c.Sealed, "sealed", false)
	check(!c.NoAck, "no_ack", false)
	check(c.MaxMsgSize <= 0, "max_msg_size", -1)
	check(c.MaxBytes <= 0, "max_bytes", -1)
	check(c.Mirror == nil && len(c.Sources) == 0, "mirror and sources", "empty")
	check(c.SubjectTransform == nil, "subject_transform", "empty")
	check(c.Retention == jetstream.LimitsPolicy, "retention", "limits")
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("stream %s has settings that the directory cannot work with: %s. "+
		"Set them with `nats stream edit %s`, and deny other clients $JS.API.STREAM.UPDATE.%s: "+
		"a KV client that updates the bucket can turn atomic batches off",
		c.Name, strings.Join(wrong, ", "), c.Name, c.Name)
}

// verifyServer refuses a server that is too old or takes too small messages.
func verifyServer(nc *nats.Conn) error {
	if v := nc.ConnectedServerVersion(); !versionAtLeast(v, MinServerVersion) {
		return fmt.Errorf("NATS server %q has version %s; the directory needs %s or later, "+
			"since earlier ones mix up the conditions of atomic batches: upgrade the server",
			nc.ConnectedServerName(), v, MinServerVersion)
	}
	if !nc.HeadersSupported() {
		return errors.New("the NATS server does not support headers: remove no_header_support from its configuration")
	}
	return nil
}

// versionAtLeast compares x.y.z; a pre-release counts as its release.
func versionAtLeast(have, want string) bool {
	h, w := versionParts(have), versionParts(want)
	for i := range h {
		if h[i] != w[i] {
			return h[i] > w[i]
		}
	}
	return true
}

func versionParts(v string) (p [3]int) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	for i, s := range strings.SplitN(v, ".", 3) {
		p[i], _ = strconv.Atoi(s)
	}
	return p
}
