package handlers

import (
	"context"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func aggregateEndpoints() []*endpoint {
	return []*endpoint{
		writeSteps(subjects.AggregateStage, domain.ValidateAggregateStage, domain.NewStaging, nil, domain.StageAggregate, severalCommits),
		writeSteps(subjects.AggregatePrepare, domain.ValidateAggregatePrepare, domain.NewPreparation, domain.PlanPreparation,
			domain.PrepareAggregate, severalCommits),
		writeSteps(subjects.AggregateCommit, domain.ValidateAggregateCommit, unbound[wire.AggregateCommitRequest],
			func(v kvstore.View, req *wire.AggregateCommitRequest) { domain.PlanCommit(v, req.Fence) }, domain.CommitAggregate,
			oneCommit),
		write(subjects.AggregateAbort, domain.ValidateAggregateAbort, domain.AbortAggregate),
		read(subjects.AggregateFind, domain.ValidateAggregateFind, domain.FindAggregate),
	}
}

// unbound binds a request to nothing.
func unbound[Req any](req *Req) (*Req, error) { return req, nil }

// commits says how many a request may need.
type commits uint8

const (
	oneCommit commits = iota
	// severalCommits: the rule answers nil until it has made the last one. What the ones before have stored is not visible, and
	// is found again when the request is repeated.
	severalCommits
)

// writeSteps is an endpoint with a plan, if there is one: it may do on a view, before each commit, what would hold others up inside
// the transaction.
func writeSteps[Req, Bound, Reply any](op subjects.Operation, validate func(*Req) error, bind func(*Req) (*Bound, error),
	plan func(kvstore.View, *Bound), rule func(*kvstore.Tx, *Bound) (*Reply, error), n commits,
) *endpoint {
	local := func(ctx context.Context, s *Service, r *request, o kvstore.UpdateOptions) (result, error) {
		req, err := decodeWrite(s, r, validate)
		if err != nil {
			return result{}, err
		}
		bound, err := bind(req)
		if err != nil {
			return result{}, err
		}
		if n == severalCommits { // done by two instances, it would still be done once
			o.Request = ""
		}
		for {
			if err := planned(ctx, s, plan, bound); err != nil {
				return result{}, err
			}
			var reply *Reply
			revision, err := s.update(ctx, o, guarded(func(tx *kvstore.Tx) (err error) {
				if err := s.mayActForRow(r, tx, req); err != nil {
					return err
				}
				reply, err = rule(tx, bound)
				return err
			}))
			if err != nil {
				return result{revision: revision}, err // the store may still be busy with the closure
			}
			if reply != nil {
				return result{body: reply, revision: revision}, nil
			}
		}
	}
	return &endpoint{op: op, schema: schemaOf[Req](), long: n == severalCommits, local: local}
}

// planned runs the plan of a request on the view at hand.
func planned[Bound any](ctx context.Context, s *Service, plan func(kvstore.View, *Bound), bound *Bound) (err error) {
	if plan == nil {
		return nil
	}
	defer recovered(&err)
	v, err := s.store.View(ctx, kvstore.ReadOptions{})
	if err == nil {
		plan(v, bound)
	}
	return err
}
