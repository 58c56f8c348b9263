package workload

import (
	"bytes"
	"context"
	"fmt"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// rows are a caller's keys in the opaque store.
type rows struct {
	conditions []wire.StoreCondition // on the versions that the last write gave; none before the first
	puts       []wire.StoreMutation
}

// StoreWrite returns "store write" on the service reached at urls.
func StoreWrite(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, func(ctx context.Context, c *serviceCaller[rows]) error {
		c.rows.puts = puts(c.name, 4)
		return writeRows(ctx, c)
	}, writeRows)
}

// StoreRead returns the read of one row of the opaque store, on the service reached at urls.
func StoreRead(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, func(ctx context.Context, c *serviceCaller[rows]) error {
		c.rows.puts = puts(c.name, 1)
		return writeRows(ctx, c)
	}, readRow)
}

func puts(name string, n int) []wire.StoreMutation {
	var out []wire.StoreMutation
	for i := range n {
		key := fmt.Appendf(nil, "%s/%d", name, i)
		out = append(out, wire.StoreMutation{Kind: wire.MutationPut, Key: key, Bytes: newValue()})
	}
	return out
}

func writeRows(ctx context.Context, c *serviceCaller[rows]) error {
	request := &wire.StoreWriteRequest{Conditions: c.rows.conditions, Mutations: c.rows.puts}
	r, err := ask[wire.StoreWriteReply](ctx, c.Conn, subjects.StoreWrite, request)
	if err != nil {
		return err
	}
	if err := expect(subjects.StoreWrite, r.Kind, wire.KindApplied); err != nil {
		return err
	}
	c.rows.conditions = c.rows.conditions[:0]
	for _, put := range r.PutVersions[:min(2, len(r.PutVersions))] {
		c.rows.conditions = append(c.rows.conditions, wire.StoreCondition{
			Kind: wire.ConditionVersion, Key: put.Key, Expected: put.Version,
		})
	}
	return nil
}

func readRow(ctx context.Context, c *serviceCaller[rows]) error {
	put := c.rows.puts[0]
	r, err := ask[wire.StoreReadReply](ctx, c.Conn, subjects.StoreRead, &wire.StoreReadRequest{Key: put.Key})
	if err != nil {
		return err
	}
	if !bytes.Equal(r.Bytes, put.Bytes) {
		return fmt.Errorf("%s: got %q of %d bytes, want the %d bytes written", subjects.StoreRead, r.Kind, len(r.Bytes), len(put.Bytes))
	}
	return nil
}
