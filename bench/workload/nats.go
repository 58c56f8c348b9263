package workload

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
)

const (
	bucket        = "bench" // of the raw updates
	serviceBucket = "zlink"
	streamPrefix  = "KV_" // of the stream of a bucket
)

// natsConns are connections shared by callers; connection n goes to server n, so that a cluster is used evenly.
type natsConns []*nats.Conn

func dialNATS(urls []string, callers int) (natsConns, error) {
	var conns natsConns
	for i := range min(callers, maxConns) {
		nc, err := nats.Connect(urls[i%len(urls)])
		if err != nil {
			conns.close()
			return nil, fmt.Errorf("connect to NATS: %w", err)
		}
		conns = append(conns, nc)
	}
	return conns, nil
}

func (c natsConns) close() {
	for _, nc := range c {
		nc.Close()
	}
}

// kvUpdate writes one key a caller, each time on condition that it did not change.
type kvUpdate struct {
	urls  []string
	conns natsConns
	value []byte
	kvs   []jetstream.KeyValue // one a connection
	keys  []string             // of each caller
	revs  []uint64             // of each caller's key
}

// KVUpdate returns a conditional write of one JetStream KV key, of the size of a lease, by its caller alone, in a bucket that has the settings
// of the service's own. The service must have made that on the servers at urls.
func KVUpdate(urls []string, callers int) load.Workload {
	return &kvUpdate{urls: urls, value: newValue()[:leaseBytes], keys: make([]string, callers), revs: make([]uint64, callers)}
}

func (w *kvUpdate) Setup(ctx context.Context) (err error) {
	if w.conns, err = dialNATS(w.urls, len(w.keys)); err != nil {
		return err
	}
	if err := makeBucket(ctx, w.conns[0]); err != nil {
		return fmt.Errorf("make bucket: %w", err)
	}
	for _, nc := range w.conns {
		kv, err := bindBucket(ctx, nc)
		if err != nil {
			return fmt.Errorf("bind bucket: %w", err)
		}
		w.kvs = append(w.kvs, kv)
	}
	for i := range w.keys {
		w.keys[i] = key("node", i, 0)
		if w.revs[i], err = w.kvs[0].Put(ctx, w.keys[i], w.value); err != nil {
			return fmt.Errorf("store row of caller %d: %w", i, err)
		}
	}
	return nil
}

func (w *kvUpdate) Op(ctx context.Context, caller int) error {
	rev, err := w.kvs[caller%len(w.kvs)].Update(ctx, w.keys[caller], w.value, w.revs[caller])
	if err == nil {
		w.revs[caller] = rev
	}
	return err
}

func (w *kvUpdate) Close() error {
	w.conns.close()
	return nil
}

// makeBucket makes a bucket with the settings of the service's own: all but the name. An existing one is kept.
func makeBucket(ctx context.Context, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	model, err := js.Stream(ctx, streamPrefix+serviceBucket)
	if err != nil {
		return fmt.Errorf("read the settings of the service's bucket: %w", err)
	}
	settings := model.CachedInfo().Config
	settings.Name, settings.Subjects = streamPrefix+bucket, []string{"$KV." + bucket + ".>"}
	settings.Metadata = nil // the server's own notes
	if _, err = js.CreateStream(ctx, settings); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil
	}
	return err
}

func bindBucket(ctx context.Context, nc *nats.Conn) (jetstream.KeyValue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return js.KeyValue(ctx, bucket)
}

// echo asks an empty micro service.
type echo struct {
	urls    []string
	callers int
	conns   natsConns
}

// Echo returns a request to [peer.EchoSubject] and its reply.
func Echo(urls []string, callers int) load.Workload { return &echo{urls: urls, callers: callers} }

func (w *echo) Setup(context.Context) (err error) {
	w.conns, err = dialNATS(w.urls, w.callers)
	return err
}

func (w *echo) Op(ctx context.Context, caller int) error {
	reply, err := w.conns[caller%len(w.conns)].RequestWithContext(ctx, peer.EchoSubject, nil)
	if err == nil && len(reply.Data) != peer.EchoBytes {
		return fmt.Errorf("echo: got %d bytes, want %d", len(reply.Data), peer.EchoBytes)
	}
	return err
}

func (w *echo) Close() error {
	w.conns.close()
	return nil
}
