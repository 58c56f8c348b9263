package subjects_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zlink/zlink-nats/subjects"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"lease": 4, "mesh-node": 3, "client-server": 3, "fanout-publisher": 3, "peer": 3, "spot": 4, "actor": 4, "route": 4,
		"authority": 3, "object": 10, "aggregate": 5, "actor-transfer": 6,
		"owner": 1, "change-stamp": 1, "topology": 2, "placement": 1, "store": 3, "status": 1,
	}
	got := map[string]int{}
	seen := map[subjects.Operation]bool{}
	kebab := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, op := range subjects.Operations() {
		if seen[op] {
			t.Errorf("operation %q is listed twice", op)
		}
		seen[op] = true
		got[op.Group()]++
		if !kebab.MatchString(op.Group()) || !kebab.MatchString(op.Verb()) || op.Group()+"."+op.Verb() != string(op) {
			t.Errorf("operation %q is group %q and verb %q, want both in kebab-case", op, op.Group(), op.Verb())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations in each group (-want +got):\n%s", diff)
	}
}

func TestOperationsBelongToTheCaller(t *testing.T) {
	t.Parallel()
	first, kind := subjects.Operations()[0], subjects.ChangeKinds()[0]
	subjects.Operations()[0] = "changed"
	subjects.ChangeKinds()[0] = "changed"
	if got := subjects.Operations()[0]; got != first {
		t.Errorf("first operation became %q, want %q", got, first)
	}
	if got := subjects.ChangeKinds()[0]; got != kind {
		t.Errorf("first kind became %q, want %q", got, kind)
	}
}

func TestPrefixSubjects(t *testing.T) {
	t.Parallel()
	const p = subjects.DefaultPrefix
	for name, row := range map[string]struct{ got, want string }{
		"group":            {p.Group("lease"), "zlink.v1.lease"},
		"operation":        {p.Operation(subjects.LeaseClaim), "zlink.v1.lease.claim"},
		"instance":         {p.Instance("a.b", subjects.StatusGet), "zlink.v1.instance.a=2Eb.status.get"},
		"owner":            {p.As("n 1.*", subjects.LeaseRenew), "zlink.v1.as.n=201=2E=2A.lease.renew"},
		"all owners":       {p.AsWildcard(subjects.LeaseRenew), "zlink.v1.as.*.lease.renew"},
		"owner, instance":  {p.InstancePrefix("a").As("b", subjects.LeaseRenew), "zlink.v1.instance.a.as.b.lease.renew"},
		"change":           {p.Change(subjects.ChangeMeshNode, "play", "n:1"), "zlink.v1.changes.mesh-node.play.n=3A1"},
		"all changes":      {p.ChangesWildcard("", "", ""), "zlink.v1.changes.*.*.*"},
		"changes of kind":  {p.ChangesWildcard(subjects.ChangeSpot, "", ""), "zlink.v1.changes.spot.*.*"},
		"changes of scope": {p.ChangesWildcard(subjects.ChangeActor, "*", ""), "zlink.v1.changes.actor.=2A.*"},
		"changes of a row": {p.ChangesWildcard(subjects.ChangeOwnerLease, subjects.OwnerScope, "a"), "zlink.v1.changes.owner-lease.owner.a"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %q, want %q", name, row.got, row.want)
		}
	}
}

func TestValidatePrefix(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{string(subjects.DefaultPrefix), "a", "A-1.b_2.c", strings.Repeat("a", 128)} {
		if err := subjects.ValidatePrefix(prefix); err != nil {
			t.Errorf("ValidatePrefix(%q) = %v, want nil", prefix, err)
		}
	}
	for why, prefix := range map[string]string{
		"empty":              "",
		"empty token":        "a..b",
		"dot at the start":   ".a",
		"dot at the end":     "a.",
		"wildcard":           "zlink.*",
		"full wildcard":      "zlink.>",
		"space":              "zlink v1",
		"a server's subject": "$JS.API",
		"beyond ASCII":       "zlínk",
		"129 bytes":          strings.Repeat("a", 129),
	} {
		if err := subjects.ValidatePrefix(prefix); err == nil {
			t.Errorf("%s: ValidatePrefix(%q) = nil, want an error", why, prefix)
		}
	}
}

func TestParseChange(t *testing.T) {
	t.Parallel()
	const p = subjects.DefaultPrefix
	for _, kind := range subjects.ChangeKinds() {
		want := subjects.Change{Kind: kind, Scope: "a.b", ID: "\xff\x00"}
		if got, err := p.ParseChange(p.Change(kind, want.Scope, want.ID)); got != want || err != nil {
			t.Errorf("ParseChange of a %s change = %+v, %v, want %+v", kind, got, err, want)
		}
	}
}

func TestParseChangeRefuses(t *testing.T) {
	t.Parallel()
	for why, subject := range map[string]string{
		"another prefix":    "other.changes.spot.a.b",
		"not a change":      "zlink.v1.lease.claim",
		"unknown kind":      "zlink.v1.changes.node.a.b",
		"no id":             "zlink.v1.changes.spot.a",
		"more tokens":       "zlink.v1.changes.spot.a.b.c",
		"scope is no token": "zlink.v1.changes.spot.*.b",
		"id is no token":    "zlink.v1.changes.spot.a.=61",
	} {
		if got, err := subjects.DefaultPrefix.ParseChange(subject); err == nil {
			t.Errorf("%s: ParseChange(%q) = %+v, want an error", why, subject, got)
		}
	}
}

func TestParseAs(t *testing.T) {
	t.Parallel()
	for _, p := range []subjects.Prefix{subjects.DefaultPrefix, subjects.DefaultPrefix.InstancePrefix("a.b")} {
		for _, want := range []string{"a", "node 1", "a.b", "*", ">", "\xff\x00", "=", "", strings.Repeat(".", 255)} {
			for _, op := range subjects.Operations() {
				owner, got, err := p.ParseAs(p.As(want, op))
				if owner != want || got != op || err != nil {
					t.Errorf("ParseAs of %s for %q = %q, %q, %v", op, want, owner, got, err)
				}
			}
		}
	}
}

func TestParseAsRefuses(t *testing.T) {
	t.Parallel()
	for why, subject := range map[string]string{
		"another prefix":             "other.as.a.lease.claim",
		"the plain subject":          "zlink.v1.lease.claim",
		"an instance's":              "zlink.v1.instance.x.as.a.lease.claim",
		"unknown operation":          "zlink.v1.as.a.lease.steal",
		"no operation":               "zlink.v1.as.a",
		"more tokens":                "zlink.v1.as.a.lease.claim.x",
		"no owner":                   "zlink.v1.as.lease.claim",
		"owner is a wildcard":        "zlink.v1.as.*.lease.claim",
		"owner is an empty token":    "zlink.v1.as..lease.claim",
		"owner is escaped otherwise": "zlink.v1.as.=61.lease.claim",
	} {
		if owner, op, err := subjects.DefaultPrefix.ParseAs(subject); err == nil {
			t.Errorf("%s: ParseAs(%q) = %q, %q, want an error", why, subject, owner, op)
		}
	}
}

func FuzzParseAs(f *testing.F) {
	const p = subjects.DefaultPrefix
	f.Add("zlink.v1.as.a.lease.claim")
	f.Add("zlink.v1.as.=.status.get")
	f.Add("zlink.v1.as.a=2Eb.object.reserve")
	f.Fuzz(func(t *testing.T, subject string) {
		owner, op, err := p.ParseAs(subject)
		if err != nil {
			return
		}
		if got := p.As(owner, op); got != subject {
			t.Fatalf("ParseAs(%q) = %q, %q, which is written %q", subject, owner, op, got)
		}
	})
}

func FuzzParseChange(f *testing.F) {
	const p = subjects.DefaultPrefix
	f.Add("zlink.v1.changes.spot.play.lobby")
	f.Add("zlink.v1.changes.mesh-node.=.=00")
	f.Add("zlink.v1.changes.spot.*.b")
	f.Fuzz(func(t *testing.T, subject string) {
		c, err := p.ParseChange(subject)
		if err != nil {
			return
		}
		if got := p.Change(c.Kind, c.Scope, c.ID); got != subject {
			t.Fatalf("ParseChange(%q) = %+v, which is written %q", subject, c, got)
		}
	})
}
