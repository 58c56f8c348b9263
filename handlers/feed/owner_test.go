package feed_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// Two directories in one account would answer each other's requests: the second
// is refused with the name of the first.
func TestAStreamBelongsToOneDirectory(t *testing.T) {
	t.Parallel()
	js, err := jetstream.New(testenv.Server(t, testenv.ServerOptions{}).Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	of := func(bucket string, prefix subjects.Prefix) *feed.Feed {
		return feed.New(feed.Options{JetStream: js, InstanceID: "a", Bucket: bucket, Prefix: prefix})
	}
	if err := of("zlink", "zlink.v1").Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := of("zlink", "zlink.v1").Ensure(t.Context()); err != nil {
		t.Errorf("second instance: %v", err)
	}
	for name, other := range map[string]*feed.Feed{
		"other bucket": of("young", "zlink.v1"),
		"other prefix": of("zlink", "elsewhere"),
	} {
		err := other.Ensure(t.Context())
		if !errors.Is(err, feed.ErrOwned) || !strings.Contains(err.Error(), "zlink") {
			t.Errorf("%s: %v, want ErrOwned with the name of the owner", name, err)
		}
	}
}
