package handlers

import (
	"context"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// healthyFor is how long, in milliseconds, the store counts as healthy after it last answered.
const healthyFor kvstore.Instant = 10_000

func statusEndpoints() []*endpoint {
	return []*endpoint{{op: subjects.StatusGet, schema: schemaOf[wire.StatusGetRequest](), serve: status}}
}

func status(ctx context.Context, s *Service, r *request) (result, error) {
	if _, err := decode(r, func(*wire.StatusGetRequest) error { return nil }); err != nil {
		return result{}, err
	}
	v, err := s.store.View(ctx, r.readOptions())
	if err != nil {
		return result{}, err
	}
	reply := StatusOf(s.store, v)
	reply.Version, reply.InstanceID = s.version, s.instanceID
	return result{revision: v.Revision(), body: reply}, nil
}

// StatusOf is the reply of status.get about a store and a view of it, without the version
// and the id of an instance.
func StatusOf(store kvstore.Store, v kvstore.View) *wire.StatusGetReply {
	rows, leases := domain.CountRows(v)
	st := store.Status()
	reply := &wire.StatusGetReply{
		Revision:     wire.Revision(v.Revision()),
		StoreNow:     wire.Instant(v.Now()),
		Rows:         uint32(rows),
		Leases:       uint32(leases),
		StoreHealthy: st.Healthy && v.Now()-st.HealthyAt <= healthyFor,
		LastError:    st.LastError,
		Server: wire.ServerStatus{
			Name: st.Server.Name, Version: st.Server.Version, Replicas: uint32(st.Server.Replicas), Consumers: uint32(st.Server.Consumers),
		},
		Pushed:     wire.Revision(store.Released()),
		Aggregates: domain.AggregatesUnderWay(v),
	}
	for _, key := range domain.UnreadableRows(v, mostUnreadable) {
		reply.Unreadable = append(reply.Unreadable, subjects.KeySubject(string(key)))
	}
	return reply
}

// mostUnreadable is how many unreadable rows are named: whoever mends some asks again.
const mostUnreadable = 16
