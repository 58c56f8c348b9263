package handlers

import (
	"context"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func ownerEndpoints() []*endpoint {
	return []*endpoint{{
		op: subjects.OwnerRemoveAll, schema: schemaOf[wire.OwnerRemoveAllRequest](), long: true, local: removeAll,
	}}
}

// removeAll removes an owner's rows in several commits. What was removed when the deadline comes is a result; after any other
// failure between commits, the end of the instance included, it would be wrong to say that nothing was written.
//
// There is no telling how long another instance may need, so it gets all the time there is. It will then not be done here a
// second time, and its commits need no request id.
func removeAll(ctx context.Context, s *Service, r *request, o kvstore.UpdateOptions) (res result, err error) {
	req, err := decodeWrite(s, r, domain.ValidateOwnerRemoveAll)
	if err != nil {
		return result{}, err
	}
	o.Request = ""
	for removed := 0; ; o.Yield = false { // from the second commit on: the count is here
		n, more, revision, err := s.removeBatch(ctx, o, req)
		switch {
		case err != nil && res.body == nil:
			return res, err
		case deadlinePassed(err):
			return res, nil
		case err != nil:
			return res, inDoubt(err)
		}
		removed += n
		res = result{body: &wire.OwnerRemoveAllReply{Removed: uint32(removed)}, revision: revision}
		if !more {
			return res, nil
		}
	}
}

func (s *Service) removeBatch(ctx context.Context, o kvstore.UpdateOptions, req *wire.OwnerRemoveAllRequest) (
	int, bool, kvstore.Revision, error,
) {
	var removed int
	var more bool
	revision, err := s.update(ctx, o, guarded(func(tx *kvstore.Tx) (err error) {
		removed, more, err = domain.RemoveOwnerBatch(tx, req, s.store.Limits().CommitRows)
		return err
	}))
	if err != nil {
		return 0, false, revision, err // the store may still be busy with the closure
	}
	return removed, more, revision, nil
}
