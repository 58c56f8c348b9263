package handlers

import (
	"context"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

func aggregateEndpoints() []*endpoint {
	return []*endpoint{
		writeSteps(subjects.AggregateStage, domain.ValidateAggregateStage, domain.NewStaging, domain.StageAggregate),
		writeSteps(subjects.AggregatePrepare, domain.ValidateAggregatePrepare, domain.NewPreparation, domain.PrepareAggregate),
		write(subjects.AggregateCommit, domain.ValidateAggregateCommit, domain.CommitAggregate),
		write(subjects.AggregateAbort, domain.ValidateAggregateAbort, domain.AbortAggregate),
		read(subjects.AggregateFind, domain.ValidateAggregateFind, domain.FindAggregate),
	}
}

// writeSteps is an endpoint whose rule may need several commits: it answers nil until it has made the last one. What the ones
// before have stored is not visible, and is found again when the request is repeated.
func writeSteps[Req, Bound, Reply any](op subjects.Operation, validate func(*Req) error, bind func(*Req) (*Bound, error),
	rule func(*kvstore.Tx, *Bound) (*Reply, error),
) *endpoint {
	serve := func(ctx context.Context, s *Service, r *request) (result, error) {
		req, err := decode(r, validate)
		if err != nil {
			return result{}, err
		}
		bound, err := bind(req)
		if err != nil {
			return result{}, err
		}
		// Carried out by two instances, it would still be done once, so its commits need no request id. There is no telling how
		// long another instance may need.
		return s.commit(ctx, maxWait, op, r, func(o kvstore.UpdateOptions) (result, error) {
			o.Request = ""
			for {
				var reply *Reply
				revision, err := s.store.Update(ctx, o, guarded(func(tx *kvstore.Tx) (err error) {
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
		})
	}
	return &endpoint{op: op, schema: schemaOf[Req](), writes: true, serve: serve}
}
