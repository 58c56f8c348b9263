package workload

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/zlink/zlink-nats/bench/load"
)

// errConflict says that a condition did not hold. Callers share no rows, so it is always a defect.
var errConflict = errors.New("a condition does not hold")

// etcdClients are connections shared by callers.
type etcdClients []*clientv3.Client

func dialEtcd(endpoints []string, callers int) (etcdClients, error) {
	var clients etcdClients
	for range min(callers, maxConns) {
		c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
		if err != nil {
			return nil, errors.Join(err, clients.close())
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func (c etcdClients) of(caller int) *clientv3.Client { return c[caller%len(c)] }

func (c etcdClients) close() error {
	var errs []error
	for _, client := range c {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

// commit runs a transaction that must not conflict, and returns its revision.
func commit(txn clientv3.Txn) (int64, error) {
	resp, err := txn.Commit()
	if err != nil {
		return 0, err
	}
	if !resp.Succeeded {
		return 0, errConflict
	}
	return resp.Header.Revision, nil
}

// etcdUpdate is "update descriptor" on etcd.
type etcdUpdate struct {
	endpoints []string
	clients   etcdClients
	value     string
	callers   []etcdNode
}

// etcdNode is what one caller keeps of its rows.
type etcdNode struct {
	lease, descriptor, spot string // keys
	leaseRev, descriptorRev int64  // revisions of their last change
}

// EtcdUpdate returns "update descriptor" on the etcd cluster with these endpoints.
func EtcdUpdate(endpoints []string, callers int) load.Workload {
	return &etcdUpdate{endpoints: endpoints, value: string(newValue()), callers: make([]etcdNode, callers)}
}

func (w *etcdUpdate) Setup(ctx context.Context) (err error) {
	if w.clients, err = dialEtcd(w.endpoints, len(w.callers)); err != nil {
		return err
	}
	for i := range w.callers {
		n := etcdNode{lease: key("lease", i, 0), descriptor: key("node", i, 0), spot: key("spot", i, 0)}
		rev, err := commit(w.clients.of(i).Txn(ctx).Then(
			clientv3.OpPut(n.lease, w.value), clientv3.OpPut(n.descriptor, w.value)))
		if err != nil {
			return fmt.Errorf("store rows of caller %d: %w", i, err)
		}
		n.leaseRev, n.descriptorRev = rev, rev
		w.callers[i] = n
	}
	return nil
}

func (w *etcdUpdate) Op(ctx context.Context, caller int) error {
	n := &w.callers[caller]
	rev, err := commit(w.clients.of(caller).Txn(ctx).If(
		clientv3.Compare(clientv3.ModRevision(n.lease), "=", n.leaseRev),
		clientv3.Compare(clientv3.ModRevision(n.descriptor), "=", n.descriptorRev),
		clientv3.Compare(clientv3.CreateRevision(n.spot), "=", 0),
	).Then(clientv3.OpPut(n.descriptor, w.value)))
	if err == nil {
		n.descriptorRev = rev
	}
	return err
}

func (w *etcdUpdate) Close() error { return w.clients.close() }

// etcdWrite is "store write" on etcd.
type etcdWrite struct {
	endpoints []string
	clients   etcdClients
	value     string
	revs      []int64 // revision of each caller's last write
}

// EtcdWrite returns "store write" on the etcd cluster with these endpoints.
func EtcdWrite(endpoints []string, callers int) load.Workload {
	return &etcdWrite{endpoints: endpoints, value: string(newValue()), revs: make([]int64, callers)}
}

func (w *etcdWrite) Setup(ctx context.Context) (err error) {
	if w.clients, err = dialEtcd(w.endpoints, len(w.revs)); err != nil {
		return err
	}
	for i := range w.revs {
		if w.revs[i], err = commit(w.clients.of(i).Txn(ctx).Then(w.puts(i)...)); err != nil {
			return fmt.Errorf("store rows of caller %d: %w", i, err)
		}
	}
	return nil
}

func (w *etcdWrite) Op(ctx context.Context, caller int) error {
	rev, err := commit(w.clients.of(caller).Txn(ctx).If(
		clientv3.Compare(clientv3.ModRevision(key("row", caller, 0)), "=", w.revs[caller]),
		clientv3.Compare(clientv3.ModRevision(key("row", caller, 1)), "=", w.revs[caller]),
	).Then(w.puts(caller)...))
	if err == nil {
		w.revs[caller] = rev
	}
	return err
}

func (w *etcdWrite) puts(caller int) []clientv3.Op {
	ops := make([]clientv3.Op, 4)
	for i := range ops {
		ops[i] = clientv3.OpPut(key("row", caller, i), w.value)
	}
	return ops
}

func (w *etcdWrite) Close() error { return w.clients.close() }
