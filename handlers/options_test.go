package handlers_test

import (
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

func TestStartRefusesOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	conn := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	valid := handlers.Options{Conn: conn, Store: memkv.New(memkv.Options{Schema: domain.Schema()}), InstanceID: "one"}
	for _, c := range []struct {
		why  string
		edit func(*handlers.Options)
	}{
		{"no connection", func(o *handlers.Options) { o.Conn = nil }},
		{"no store", func(o *handlers.Options) { o.Store = nil }},
		{"no instance id", func(o *handlers.Options) { o.InstanceID = "" }},
		{"instance id too long", func(o *handlers.Options) { o.InstanceID = strings.Repeat("i", 256) }},
		{"prefix with a wildcard", func(o *handlers.Options) { o.Prefix = "zlink.*" }},
		{"no semantic version", func(o *handlers.Options) { o.Version = "latest" }},
	} {
		o := valid
		c.edit(&o)
		if s, err := handlers.Start(t.Context(), o); err == nil {
			t.Errorf("%s: started", c.why)
			_ = s.Stop(t.Context())
		}
	}
	conn.Close()
	if _, err := handlers.Start(t.Context(), valid); err == nil {
		t.Error("started on a closed connection")
	}
}

func TestPrefixIsThatOfTheOptions(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *handlers.Options) { o.Prefix = "dev.zlink" })
	f.send("dev.zlink.lease.read", []byte(readA), nil).want(map[string]string{"kind": "missing"})
	f.send(subjects.Prefix("dev.zlink").Instance("one", subjects.LeaseRead), []byte(readA), nil).
		want(map[string]string{"kind": "missing"})
}

func TestRequestThatNobodyWaitsForIsCarriedOut(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	if err := f.client.Publish(subjects.DefaultPrefix.Operation(subjects.LeaseClaim), []byte(claimA)); err != nil {
		t.Fatal(err)
	}
	found := func() bool {
		return f.call(subjects.LeaseRead, readA, nil).fields()["kind"] == "found"
	}
	testenv.Eventually(t, patience, found, "the lease")
}
