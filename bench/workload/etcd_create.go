package workload

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/zlink/zlink-nats/bench/load"
)

// etcdCreate is "create object" on etcd.
type etcdCreate struct {
	endpoints []string
	clients   etcdClients
	value     string
	nodeRows  int64 // revision of the leases and descriptors
	callers   []creator
}

// EtcdCreate returns "create object" on the etcd cluster with these endpoints.
func EtcdCreate(endpoints []string, callers int) load.Workload {
	return &etcdCreate{endpoints: endpoints, value: string(newValue()), callers: newCreators(callers)}
}

func (w *etcdCreate) Setup(ctx context.Context) (err error) {
	if w.clients, err = dialEtcd(w.endpoints, len(w.callers)); err != nil {
		return err
	}
	var rows []clientv3.Op
	for n := range nodes {
		rows = append(rows, clientv3.OpPut(leaseKey(n), w.value[:leaseBytes]), clientv3.OpPut(descriptorKey(n), w.value))
	}
	if w.nodeRows, err = commit(w.clients.of(0).Txn(ctx).Then(rows...)); err != nil {
		return fmt.Errorf("store rows of the nodes: %w", err)
	}
	for i := range w.callers {
		if err := w.storeCounters(ctx, &w.callers[i]); err != nil {
			return fmt.Errorf("store rows of caller %d: %w", i, err)
		}
	}
	return nil
}

func (w *etcdCreate) storeCounters(ctx context.Context, c *creator) error {
	var rows []clientv3.Op
	for n := range nodes {
		for _, k := range []string{c.nodeCounter(n), c.typeCounter(n)} {
			rows = append(rows, clientv3.OpPut(k, w.value[:counterBytes]))
		}
	}
	rev, err := commit(w.clients.of(c.caller).Txn(ctx).Then(rows...))
	for n := range nodes {
		c.counted[n] = rev
	}
	return err
}

func (w *etcdCreate) Op(ctx context.Context, caller int) error {
	c := &w.callers[caller]
	var compares []clientv3.Cmp
	for _, condition := range c.conditions(w.nodeRows) {
		compares = append(compares, clientv3.Compare(clientv3.ModRevision(condition.key), "=", condition.version))
	}
	var puts []clientv3.Op
	for _, p := range c.puts() {
		value := w.value[:counterBytes]
		if p.object {
			value = w.value
		}
		puts = append(puts, clientv3.OpPut(p.key, value))
	}
	rev, err := commit(w.clients.of(caller).Txn(ctx).If(compares...).Then(puts...))
	if err == nil {
		c.wrote(rev)
	}
	return err
}

func (w *etcdCreate) Close() error { return w.clients.close() }
