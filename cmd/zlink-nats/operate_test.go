package main

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// busyProgram is one that has something to tell in every figure.
func busyProgram(t *testing.T) *served {
	t.Helper()
	s := startProgram(t, "--http", "127.0.0.1:0")
	k := &talk{T: t, dialect: dialects[0], conn: s.connect(), replies: object{}}
	k.ask("owner", step{"lease.claim", object{"ownerId": "an-owner", "leaseTtlMs": 600_000}, object{"kind": "claimed"}, "owner"})
	usage := object{"limit": 5}
	k.ask("node", step{"mesh-node.update", object{"intent": "newClaim", "descriptor": object{
		"meshName": "a mesh", "rid": object{"hex": "6eff"}, "endpoint": "tcp://127.0.0.1:1", "lifecycleGeneration": "1", "descriptorRevision": "1",
		"objectRole": "server", "state": "serving", "placementWeight": 100,
		"populationCapacity": object{"actors": usage, "spots": usage, "spotTypes": []any{
			object{"objectKind": "userSpot", "stableType": "room", "limit": 3},
		}},
		"activationConcurrency": object{"active": 0, "limit": 8}, "channelWeights": object{}, "applicationVersion": "1",
		"spotTypes": []any{"room"}, "objectCapabilities": []any{}, "securityIdentity": "n1",
		"ownerId": "an-owner", "leaseGeneration": ref("owner.token.leaseGeneration"),
	}}, object{"status": "stored"}, "node"})
	k.ask("lapsing", step{"lease.claim", object{"ownerId": "another", "leaseTtlMs": 1}, object{"kind": "claimed"}, ""})
	k.ask("refused", step{"lease.claim", object{}, object{"code": "400"}, ""})
	testenv.Eventually(t, patience, func() bool {
		return strings.Contains(s.scrape(), `zlink_store_expired_rows_total{family="lease"} 1`)
	}, "an expired lease is counted")
	return s
}

var (
	sampleLine = regexp.MustCompile(`(?m)^(zlink_[a-z0-9_]+)(?:{(.*)})? \S+$`)
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (zlink_[a-z0-9_]+) (\w+)$`)
	labelName  = regexp.MustCompile(`(?:^|,)(\w+)="(?:[^"\\]|\\.)*"`)
	metricName = regexp.MustCompile(`zlink_[a-z0-9_]+`)
)

// TestWhatOperatorsReadIsThere compares the documents and files for operators with what a
// running instance tells.
func TestWhatOperatorsReadIsThere(t *testing.T) {
	t.Parallel()
	text := busyProgram(t).scrape()
	t.Run("docs", func(t *testing.T) { t.Parallel(); documented(t, text) })
	t.Run("ids", func(t *testing.T) { t.Parallel(); withoutIDs(t, text) })
	t.Run("capacity", func(t *testing.T) { t.Parallel(); showsCapacity(t, text) })
	told := make(map[string]bool)
	for _, m := range sampleLine.FindAllStringSubmatch(text, -1) {
		told[m[1]] = true
	}
	for name, exprs := range map[string][]string{
		"grafana/zlink-nats.json": panelExprs(t), "prometheus/alerts.yaml": alertExprs(t),
	} {
		if len(exprs) == 0 {
			t.Errorf("%s asks for nothing", name)
		}
		for _, expr := range exprs {
			for _, metric := range metricName.FindAllString(expr, -1) {
				if !told[metric] {
					t.Errorf("%s asks for %s, which an instance does not tell", name, metric)
				}
			}
		}
	}
}

// TestCountersOfAlertsBeginAtZero: a counter that appears with its first events has not increased for Prometheus, and the alert
// would wait for the next ones.
func TestCountersOfAlertsBeginAtZero(t *testing.T) {
	t.Parallel()
	text := startProgram(t, "--http", "127.0.0.1:0").scrape()
	found := regexp.MustCompile(`increase\((zlink_[a-z_]+)(?:{(.*?)})?\[`).FindAllStringSubmatch(strings.Join(alertExprs(t), "\n"), -1)
	if len(found) == 0 {
		t.Error("no alert asks for an increase")
	}
	for _, m := range found {
		want := 1
		if m[1] == "zlink_requests_total" {
			want = len(subjects.Operations())
		}
		begun := regexp.MustCompile(`(?m)^` + m[1] + `(?:{(?:.*,)?` + regexp.QuoteMeta(m[2]) + `})? 0$`)
		if got := len(begun.FindAllString(text, -1)); got != want {
			t.Errorf("%d of %s{%s} begin at 0, want %d", got, m[1], m[2], want)
		}
	}
}

// TestInstanceThatWaitsForItsClusterIsNotHealthy: a figure that is missing raises no alert.
func TestInstanceThatWaitsForItsClusterIsNotHealthy(t *testing.T) {
	t.Parallel()
	e, err := newExports(t.Context(), new(running), "one", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	e.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if !strings.Contains(w.Body.String(), "\nzlink_store_healthy 0\n") {
		t.Errorf("not told: zlink_store_healthy 0\n%s", w.Body)
	}
}

// TestAttributesThatCannotBeReadAreLeftOut: a comma too many keeps no directory from starting.
//
// Not parallel: it sets an environment variable.
func TestAttributesThatCannotBeReadAreLeftOut(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "a=b,")
	log := new(journal)
	if _, err := newExports(t.Context(), new(running), "one", slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "OTEL_RESOURCE_ATTRIBUTES: ") {
		t.Errorf("it does not say so: %s", log)
	}
	who, _ := describe(t.Context(), "one", build{}) // the error is what is logged
	if value, ok := who.Set().Value("a"); !ok || value.AsString() != "b" {
		t.Errorf("got %s, want a=b among them", who)
	}
}

// held is a collector that takes until it is let go.
type held struct{ collecting, letGo chan struct{} }

func (held) Describe(chan<- *prometheus.Desc) {}

func (h held) Collect(chan<- prometheus.Metric) {
	h.collecting <- struct{}{}
	<-h.letGo
}

func TestScrapesAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	e, err := newExports(t.Context(), new(running), "one", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := held{make(chan struct{}), make(chan struct{})}
	e.registry.MustRegister(h)
	handler := e.handler()
	scrape := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		return w.Code
	}
	var wg sync.WaitGroup
	for range scrapesAtOnce {
		wg.Go(func() {
			if code := scrape(); code != http.StatusOK {
				t.Errorf("one of %d scrapes: %d", scrapesAtOnce, code)
			}
		})
		<-h.collecting
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("a further scrape: %d", code)
	}
	close(h.letGo)
	wg.Wait()
}

// documented checks the table of metrics: names, kinds and labels.
func documented(t *testing.T, scraped string) {
	doc := readText(t, "../../docs/operate.md")
	rows := make(map[string]string)
	row := regexp.MustCompile("(?m)^\\| `(zlink_[a-z0-9_]+)` \\| (\\w+)[a-z, ]* \\|([^|]*)\\|")
	for _, m := range row.FindAllStringSubmatch(doc, -1) {
		rows[m[1]] = m[2] + " " + m[3]
	}
	labels := make(map[string]map[string]bool)
	for _, m := range sampleLine.FindAllStringSubmatch(scraped, -1) {
		name := regexp.MustCompile("(_seconds)_(bucket|sum|count)$").ReplaceAllString(m[1], "$1")
		if labels[name] == nil {
			labels[name] = make(map[string]bool)
		}
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels[name]["`"+l[1]+"`"] = true
			}
		}
	}
	told := make(map[string]string)
	for _, m := range typeLine.FindAllStringSubmatch(scraped, -1) {
		told[m[1]] = m[2] + " " + strings.Join(slices.Sorted(maps.Keys(labels[m[1]])), " ")
	}
	for name, text := range rows {
		kind, names, _ := strings.Cut(text, " ")
		rows[name] = kind + " " + strings.Join(slices.Sorted(slices.Values(strings.Fields(names))), " ")
	}
	if diff := cmp.Diff(told, rows); diff != "" {
		t.Errorf("table of metrics in docs/operate.md (-told by an instance +documented):\n%s", diff)
	}
}

func withoutIDs(t *testing.T, scraped string) {
	for line := range strings.Lines(scraped) {
		if strings.Contains(line, "an-owner") || strings.Contains(line, "another") && !strings.HasPrefix(line, "#") {
			t.Errorf("an owner's id is told: %s", line)
		}
	}
}

// Names that cannot be seen are shown as by the commands.
func showsCapacity(t *testing.T, scraped string) {
	for _, want := range []string{
		`zlink_node_capacity{mesh="\"a mesh\"",node="\"n\\xff\"",resource="userSpot/room",state="limit"} 3`,
		`zlink_node_capacity{mesh="\"a mesh\"",node="\"n\\xff\"",resource="actors",state="active"} 0`,
		`zlink_nodes{mesh="\"a mesh\"",state="ready"} 1`,
		`zlink_nodes{mesh="\"a mesh\"",state="lost"} 0`,
		`zlink_leases{state="live"} 1`,
	} {
		if !strings.Contains(scraped, want+"\n") {
			t.Errorf("not told: %s", want)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// panelExprs are the queries of the dashboard.
func panelExprs(t *testing.T) (exprs []string) {
	t.Helper()
	var dashboard struct {
		Title, UID string
		Panels     []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Definition string }
		}
	}
	if err := json.Unmarshal([]byte(readText(t, "../../deploy/grafana/zlink-nats.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, v := range dashboard.Templating.List {
		exprs = append(exprs, v.Definition)
	}
	ids := make(map[int]bool)
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" || (p.Type != "row") == (len(p.Targets) == 0) {
			t.Errorf("panel %d, %q, of type %s with %d queries", p.ID, p.Title, p.Type, len(p.Targets))
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			exprs = append(exprs, q.Expr)
		}
	}
	return exprs
}

// alertExprs are the queries of the alerts. It checks that each alert has its section of
// the runbook, and that each of those has an alert.
func alertExprs(t *testing.T) (exprs []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions([]byte(readText(t, "../../deploy/prometheus/alerts.yaml")), &rules, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(readText(t, "../../docs/runbook.md"), -1) {
		sections["docs/runbook.md#"+strings.ToLower(m[1])] = true
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs = append(exprs, r.Expr)
			if !sections[r.Annotations["runbook"]] || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("alert %s: runbook %q, summary %q, labels %v", r.Alert, r.Annotations["runbook"], r.Annotations["summary"], r.Labels)
			}
			delete(sections, r.Annotations["runbook"])
		}
	}
	if len(sections) > 0 {
		t.Errorf("sections without an alert of their own: %v", slices.Sorted(maps.Keys(sections)))
	}
	return exprs
}
