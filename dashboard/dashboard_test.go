package dashboard_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zlink/zlink-nats/dashboard"
)

// hostile is an id as somebody may choose it.
const hostile = `<script>alert("x")</script><img src=x onerror=alert(1)>'"&`

func overview() *dashboard.Overview {
	return &dashboard.Overview{
		Level: dashboard.LevelBad, Problems: []dashboard.Problem{{dashboard.LevelBad, "1 node lost " + hostile}},
		Instance: "one", Version: "v1.0.0", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Directory: &dashboard.Directory{
			Facts:  []dashboard.Fact{{"revision", "42"}, {"NATS server", hostile}},
			Rows:   []dashboard.Count{{"lease", 7}},
			Meshes: []dashboard.Mesh{{Name: hostile, Ready: 1, Lost: 1, Total: 2}}, MoreMeshes: 3,
			Nodes: []dashboard.Node{
				{Mesh: hostile, RID: `"\x00\xff"`, Endpoint: hostile, Owner: hostile, State: "lost, was serving", Level: dashboard.LevelBad, Actors: dashboard.Usage{Used: 9, Limit: 10}},
				{Mesh: "play", RID: "n2", State: "serving", Level: dashboard.LevelOK, Spots: dashboard.Usage{Used: 5}},
			}, MoreNodes: 4,
			Operations: []dashboard.Operation{{Name: "lease.claim", PerSecond: 2.5, Errors: 1, AllErrors: 3, MeanMs: 0.75}}, Window: 3,
		},
	}
}

func get(t *testing.T, f func(dashboard.Source) http.HandlerFunc, o *dashboard.Overview) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	f(func(context.Context) *dashboard.Overview { return o })(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w
}

func page(s dashboard.Source) http.HandlerFunc   { return s.Page }
func asJSON(s dashboard.Source) http.HandlerFunc { return s.JSON }

func TestPageShowsWhatThereIs(t *testing.T) {
	t.Parallel()
	w := get(t, page, overview())
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got %d, %s", w.Code, w.Header().Get("Content-Type"))
	}
	for _, want := range []string{
		"<h1>Needs attention</h1>", "<dt>revision</dt><dd>42</dd>", "<dt>lease</dt><dd>7</dd>", "and 3 more", "and 4 more",
		`<td class="state">lost, was serving</td>`, `value="9"></meter> 9/10`, "<td>5</td>", `<td class="n">2.5</td>`, `<td class="n">0.75</td>`,
		"(bad) zlink one", "over the last 3 s", "2026-01-02 03:04:05 UTC",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
}

func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	var r struct{ HTML string }
	if err := json.Unmarshal(get(t, asJSON, overview()).Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"page": get(t, page, overview()).Body.String(), "inner part": r.HTML} {
		if strings.Contains(text, "alert(\"") || strings.Contains(text, "<img") || strings.Contains(text, "<script>alert") {
			t.Errorf("%s: markup of an id got through:\n%s", name, text)
		}
		if n := strings.Count(text, "&lt;script&gt;alert("); n != 6 {
			t.Errorf("%s: the id is shown %d times, want 6", name, n)
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("%s: raw bytes", name)
		}
	}
}

func TestPolicyLetsThePageRunItsOwnAlone(t *testing.T) {
	t.Parallel()
	w := get(t, page, overview())
	policy := w.Header().Get("Content-Security-Policy")
	for _, tag := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(w.Body.String(), -1)
		if len(m) != 1 {
			t.Fatalf("%d elements %s, want 1", len(m), tag)
		}
		sum := sha256.Sum256([]byte(m[0][1]))
		if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("policy %q, want %q in it", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	plain := overview()
	plain.Problems, plain.Directory.Meshes, plain.Directory.Nodes, plain.Directory.Facts = nil, nil, plain.Directory.Nodes[1:], nil
	if found := regexp.MustCompile(`(?i)\s(style|on\w+)=|https?://|\ssrc=|\shref=`).FindString(get(t, page, plain).Body.String()); found != "" {
		t.Errorf("%q is not allowed by the policy", found)
	}
}

func TestInstanceThatIsNotReadySaysWhy(t *testing.T) {
	t.Parallel()
	o := &dashboard.Overview{
		Level: dashboard.LevelBad, Instance: "one",
		Problems: []dashboard.Problem{{dashboard.LevelBad, "starting: no requests are taken yet"}},
	}
	for name, f := range map[string]func(dashboard.Source) http.HandlerFunc{"page": page, "JSON": asJSON} {
		w := get(t, f, o)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "starting: no requests are taken yet") {
			t.Errorf("%s: %d\n%s", name, w.Code, w.Body)
		}
	}
}

func TestJSONHasTheFigures(t *testing.T) {
	t.Parallel()
	w := get(t, asJSON, overview())
	var r struct{ Overview dashboard.Overview }
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if n := r.Overview.Directory.Nodes[0]; n.RID != `"\x00\xff"` || n.Actors.Used != 9 || r.Overview.Directory.Window != 3 {
		t.Errorf("got %+v", r.Overview)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
}
