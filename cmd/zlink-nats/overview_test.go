package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/dashboard"
	"github.com/zlink/zlink-nats/wire"
)

func TestDashboardSaysWhyTheInstanceIsNotReady(t *testing.T) {
	t.Parallel()
	why := errors.New("no suitable peers")
	for name, c := range map[string]struct {
		set  func(*running)
		want string
	}{
		"it starts": {func(*running) {}, "starting: no requests are taken yet"},
		"it waits":  {func(r *running) { r.waiting.Store(&why) }, "starting: the NATS server is not ready: no suitable peers"},
		"it stops":  {func(r *running) { r.stopping.Store(true) }, "stopping: no requests are taken any more"},
	} {
		h := &httpServer{running: &running{id: "one"}}
		c.set(h.running)
		for _, path := range []string{"/", "/api/overview", "/readyz"} {
			w := httptest.NewRecorder()
			h.routes(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%s, %s: %d, want %q in\n%s", name, path, w.Code, c.want, w.Body)
			}
		}
	}
}

func TestWhatAStatusReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status wire.StatusGetReply
		want   []dashboard.Level
		text   string
	}{
		"nothing":                      {wire.StatusGetReply{StoreHealthy: true}, nil, ""},
		"aggregates at their deadline": {wire.StatusGetReply{StoreNow: 10_000, Aggregates: wire.AggregateCounts{Overdue: 1, OldestDeadline: 6_000}}, nil, ""},
		"aggregates long overdue": {
			wire.StatusGetReply{StoreNow: 20_000, Aggregates: wire.AggregateCounts{Overdue: 2, OldestDeadline: 6_000}},
			[]dashboard.Level{dashboard.LevelWarn},
			"aggregates: 2 overdue, next deadline overdue for 14s: the service aborts them within 5 s",
		},
		"changes far behind": {wire.StatusGetReply{Revision: 200_000, Pushed: 1}, []dashboard.Level{dashboard.LevelWarn}, "pushed changes: up to revision 1, 199999 behind: "},
		"a store out of reach": {
			wire.StatusGetReply{Revision: 200_000, LastError: "no leader"},
			[]dashboard.Level{dashboard.LevelBad, dashboard.LevelWarn},
			"store: no leader",
		},
		"settings that were changed": {wire.StatusGetReply{StoreHealthy: true, LastError: "drift"}, []dashboard.Level{dashboard.LevelWarn}, "store: drift"},
	} {
		o := &dashboard.Overview{}
		reportStatus(o, &c.status)
		var levels []dashboard.Level
		for _, p := range o.Problems {
			levels = append(levels, p.Level)
		}
		if len(levels) != len(c.want) || len(levels) > 0 && (levels[0] != c.want[0] || o.Level != c.want[0] || !strings.HasPrefix(o.Problems[0].Text, c.text)) {
			t.Errorf("%s: got %q, want %v, %q", name, o.Problems, c.want, c.text)
		}
	}
}
