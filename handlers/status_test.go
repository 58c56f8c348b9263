package handlers_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.claim("a")
	f.claim("b")
	f.clock.Set(testT0 + 1)
	got := f.call(subjects.StatusGet, "{}", nil).fields()
	want := object{
		"version": "1.2.3", "instanceId": "one", "revision": "2", "storeNow": float64(testT0 + 1),
		"rows": 2.0, "leases": 2.0, "storeHealthy": true,
		"server": object{"name": "memory", "version": "", "replicas": 1.0},
		"pushed": "0", "aggregates": object{"collecting": 0.0, "prepared": 0.0, "overdue": 0.0, "settling": 0.0, "unreadable": 0.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestStatusOfAStoreThatDoesNotAnswer(t *testing.T) { // 11
	t.Parallel()
	const now = kvstore.Instant(testT0)
	var st kvstore.Status
	f := start(t, func(o *handlers.Options) {
		o.Store = &stub{Store: o.Store, status: func() kvstore.Status { return st }}
	})
	for _, c := range []struct {
		why     string
		status  kvstore.Status
		healthy bool
	}{
		{"answered just now", kvstore.Status{Healthy: true, HealthyAt: now}, true},
		{"answered 10 s ago", kvstore.Status{Healthy: true, HealthyAt: now - 10_000}, true},
		{"silent for longer", kvstore.Status{Healthy: true, HealthyAt: now - 10_001}, false},
		{"failed since", kvstore.Status{HealthyAt: now, LastError: "no quorum"}, false},
		{"something else is wrong", kvstore.Status{Healthy: true, HealthyAt: now, LastError: "settings"}, true},
		{"never answered", kvstore.Status{}, false},
	} {
		st = c.status
		got := f.call(subjects.StatusGet, "{}", nil).want(map[string]string{"storeHealthy": fmt.Sprint(c.healthy)})
		if text, _ := got["lastError"].(string); text != c.status.LastError {
			t.Errorf("%s: lastError %q, want %q", c.why, text, c.status.LastError)
		}
	}
}
