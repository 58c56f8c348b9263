package handlers

import (
	"context"
	"runtime/debug"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

// endpoint is one operation of the service.
type endpoint struct {
	op     subjects.Operation
	schema string // JSON schema of the request
	inline bool   // costs microseconds when there is nothing to wait for
	parks  bool   // may leave the request waiting for something to happen
	long   bool   // a write of which there is no telling how long it takes
	// A read has serve, a write has local: it carries the request out on this instance.
	serve func(context.Context, *Service, *request) (result, error)
	local func(context.Context, *Service, *request, kvstore.UpdateOptions) (result, error)
	counters
	observed observed
}

func (e *endpoint) writes() bool { return e.local != nil }

// read is an endpoint whose rule looks at one row or a few.
func read[Req, Reply any](op subjects.Operation, validate func(*Req) error,
	rule func(kvstore.View, *Req) (*Reply, error),
) *endpoint {
	serve := func(ctx context.Context, s *Service, r *request) (result, error) {
		req, err := decode(r, validate)
		if err != nil {
			return result{}, err
		}
		v, err := s.store.View(ctx, r.readOptions())
		if err != nil {
			return result{}, err
		}
		reply, err := rule(v, req)
		return result{body: reply, revision: v.Revision()}, err
	}
	return &endpoint{op: op, schema: schemaOf[Req](), inline: true, serve: serve}
}

// write is an endpoint whose rule runs inside a transaction, once or several times.
func write[Req, Reply any](op subjects.Operation, validate func(*Req) error,
	rule func(*kvstore.Tx, *Req) (*Reply, error),
) *endpoint {
	return writeBound(op, validate, func(req *Req) func(*kvstore.Tx) (*Reply, error) {
		return func(tx *kvstore.Tx) (*Reply, error) { return rule(tx, req) }
	})
}

// writeBound is write for a rule that is given more than the request: bind gives it what has to be the same in all of its runs.
func writeBound[Req, Reply any](op subjects.Operation, validate func(*Req) error,
	bind func(*Req) func(*kvstore.Tx) (*Reply, error),
) *endpoint {
	local := func(ctx context.Context, s *Service, r *request, o kvstore.UpdateOptions) (result, error) {
		req, err := decodeWrite(s, r, validate)
		if err != nil {
			return result{}, err
		}
		rule := bind(req)
		var reply *Reply
		revision, err := s.update(ctx, o, guarded(func(tx *kvstore.Tx) (err error) {
			if err := s.mayActForRow(r, tx, req); err != nil {
				return err
			}
			reply, err = rule(tx)
			return err
		}))
		if err != nil {
			return result{revision: revision}, err // the store may still be busy with the closure
		}
		return result{body: reply, revision: revision}, nil
	}
	return &endpoint{op: op, schema: schemaOf[Req](), local: local}
}

// guarded makes an error of a closure's panic, since the store runs closures on a goroutine that others depend on.
func guarded(fn func(*kvstore.Tx) error) func(*kvstore.Tx) error {
	return func(tx *kvstore.Tx) (err error) {
		defer recovered(&err)
		return fn(tx)
	}
}

// recovered is to be deferred.
func recovered(err *error) {
	if value := recover(); value != nil {
		*err = &panicError{value, debug.Stack()}
	}
}
