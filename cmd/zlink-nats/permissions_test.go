package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
)

// roles are the users of deploy/nats/accounts.conf. The password of each is its name.
var roles = []string{"service", "reader", "watcher", "operator", "node-1", "client"}

// startRoles starts the program under the permissions that are shipped, as the service among them.
func startRoles(t *testing.T, flags ...string) (url string) {
	t.Helper()
	args := append(rolePasswords(), "--http", "off", "--server-config", "../../deploy/nats/accounts.conf", "--user", "service", "--password", "service")
	return startProgram(t, append(args, flags...)...).nats
}

// rolePasswords are the variables that the file takes the passwords from.
func rolePasswords() (env []string) {
	for _, r := range roles {
		env = append(env, "ZLINK_"+strings.ToUpper(strings.ReplaceAll(r, "-", "_"))+"_PASSWORD="+r)
	}
	return env
}

// inboxOf is what the inboxes of a role begin with.
func inboxOf(role string) string {
	if role == "service" {
		return "_INBOX"
	}
	return "_INBOX." + role
}

// connectRole connects a plain NATS client.
func connectRole(t *testing.T, url, role string) *link {
	t.Helper()
	nc, err := nats.Connect(url, nats.UserInfo(role, role), nats.CustomInboxPrefix(inboxOf(role)),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &link{Conn: nc}
}

// may lists the roles that may do something.
func may(list ...string) []string { return list }

// TestRolesMayPublishAndSubscribe goes through what is allowed and what is denied, for every role.
func TestRolesMayPublishAndSubscribe(t *testing.T) {
	t.Parallel()
	url := startRoles(t)
	links := make(map[string]*link)
	for _, r := range roles {
		links[r] = connectRole(t, url, r)
	}
	clients, trusted := roles[1:], may("watcher", "operator")
	check := func(what, subject string, want []string, try func(*link) error) {
		t.Helper()
		for _, r := range roles {
			err := permitted(links[r], patience, func() error { return try(links[r]) })
			if err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
				t.Fatalf("%s %s %s: %v", r, what, subject, err)
			}
			if got := err == nil; got != slices.Contains(want, r) {
				t.Errorf("%s may %s %s: %t, want %t", r, what, subject, got, !got)
			}
		}
	}
	const p = subjects.DefaultPrefix
	for subject, want := range map[string][]string{
		// What changes rows, or what other clients are told.
		"$KV.zlink.owner-lease.a":              may("service"),
		"zlink.v1.feed.changes.spot.a.b":       may("service"),
		"zlink.v1.changes.spot.a.b":            may("service"),
		"zlink.v1.changes.list":                may("service"),
		"zlink.v1.changes.get":                 may("service"),
		"zlink.v1.feed.list":                   may("service"),
		"zlink.v1.instance.read":               may("service"),
		p.Instance("x", subjects.LeaseClaim):   may("service"),
		"zlink.v1.instance.x.as.a.lease.claim": may("service"),
		"_INBOX.reader.x":                      may("service"),
		"$JS.API.STREAM.DELETE.KV_zlink":       nil,
		"$JS.API.STREAM.UPDATE.KV_zlink":       may("service"),
		"$JS.API.STREAM.PURGE.ZLINK_CHANGES":   may("service"),

		// Acting for an owner.
		p.As("node-1", subjects.LeaseClaim):               may("node-1"),
		p.As("node-1", subjects.AuthorityCompareExchange): may("node-1"),
		p.As("node-1", subjects.StatusGet):                may("node-1"),
		p.As("node-2", subjects.LeaseClaim):               nil,
		p.As("node-1.x", subjects.LeaseClaim):             nil,
		p.Operation(subjects.LeaseClaim):                  may("client"),
		p.Operation(subjects.OwnerRemoveAll):              may("client"),
		p.Operation(subjects.ActorTransferAbort):          may("client"),
		p.Operation(subjects.AggregatePrepare):            may("client"),

		// Acting for nobody.
		p.Operation(subjects.ObjectPlace):            may("node-1", "client"),
		p.Operation(subjects.ObjectReleaseEnded):     may("node-1", "client"),
		p.Operation(subjects.AggregateStage):         may("node-1", "client"),
		p.Operation(subjects.StatusGet):              roles,
		p.Operation(subjects.StoreWrite):             nil,
		p.As("node-1", subjects.StoreWrite):          nil,
		p.Operation(subjects.StoreRead):              may("operator"),
		p.Operation(subjects.StoreScan):              may("operator"),
		p.Operation(subjects.LeaseRead):              clients,
		p.Operation(subjects.MeshNodeList):           clients,
		p.Operation(subjects.TopologyList):           clients,
		p.Operation(subjects.TopologySummary):        clients,
		p.Operation(subjects.ClientServerList):       clients,
		p.Operation(subjects.FanoutPublisherList):    clients,
		p.Operation(subjects.PeerList):               clients,
		p.Operation(subjects.SpotList):               clients,
		p.Operation(subjects.SpotResolve):            clients,
		p.Operation(subjects.ActorList):              clients,
		p.Operation(subjects.ActorResolve):           clients,
		p.Operation(subjects.RouteList):              clients,
		p.Operation(subjects.RouteResolve):           clients,
		p.Operation(subjects.AuthorityRead):          clients,
		p.Operation(subjects.AuthorityList):          clients,
		p.Operation(subjects.ObjectReadTerminal):     clients,
		p.Operation(subjects.ObjectFind):             clients,
		p.Operation(subjects.ObjectList):             clients,
		p.Operation(subjects.ObjectAwait):            clients,
		p.Operation(subjects.AggregateFind):          clients,
		p.Operation(subjects.ActorTransferResolve):   clients,
		p.Operation(subjects.ChangeStampGet):         clients,
		p.Operation(subjects.PlacementSelect):        clients,
		"$SRV.PING.zlink":                            may("operator"),
		"$JS.API.INFO":                               may("service", "operator"),
		"$JS.API.STREAM.INFO.ZLINK_CHANGES":          append(trusted, "service"),
		"$JS.API.STREAM.INFO.KV_zlink":               may("service", "operator"),
		"$JS.API.STREAM.MSG.GET.KV_zlink":            may("service", "operator"),
		"$JS.API.CONSUMER.CREATE.ZLINK_CHANGES.x":    append(trusted, "service"),
		"$JS.API.CONSUMER.CREATE.KV_zlink.x":         may("service"),
		"$JS.API.CONSUMER.MSG.NEXT.ZLINK_CHANGES.x":  append(trusted, "service"),
		"$JS.API.STREAM.MSG.DELETE.ZLINK_CHANGES":    may("service"),
		"$JS.API.CONSUMER.DELETE.ZLINK_CHANGES.none": append(trusted, "service"),
	} {
		check("publish to", subject, want, func(l *link) error {
			// A condition that no stream meets, and a request that is none: what is allowed does no harm.
			m := nats.NewMsg(subject)
			m.Header.Set("Nats-Expected-Last-Sequence", "9007199254740991")
			m.Data = []byte("none")
			return l.PublishMsg(m)
		})
	}
	for subject, want := range map[string][]string{
		"zlink.v1.changes.>":                     roles,
		p.Operation(subjects.LeaseClaim):         may("service"),
		p.AsWildcard(subjects.LeaseClaim):        may("service"),
		"zlink.v1.as.node-1.>":                   may("service"),
		"zlink.v1.instance.>":                    may("service"),
		"zlink.v1.>":                             may("service"),
		"$KV.zlink.>":                            nil,
		"$SRV.PING":                              may("service"),
		"$JS.API.>":                              nil,
		"_INBOX.>":                               may("service"),
		"_INBOX.reader.>":                        may("service", "reader"),
		"_INBOX.node-1.>":                        may("service", "node-1"),
		p.ChangesWildcard("owner-lease", "", ""): roles,
		">":                                      nil,
	} {
		check("subscribe to", subject, want, func(l *link) error { return subscribeOnce(l, subject) })
	}
}

// TestRolesDoTheirJobs runs the program as each role.
func TestRolesDoTheirJobs(t *testing.T) {
	t.Parallel()
	url := startRoles(t, "--owner-subjects")
	run := func(role string, ok bool, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c := exec.CommandContext(ctx, "zlink-nats", append(args, "--server", url, "--user", role, "--password", role, "--inbox-prefix", inboxOf(role))...)
		c.Env = []string{}
		out, err := c.CombinedOutput()
		if (err == nil) != ok {
			t.Errorf("%s: %q: %v\n%s", role, args, err, out)
		}
		return string(out)
	}
	const claim = `{"ownerId":"node-1","leaseTtlMs":3600000}`
	run("node-1", true, "call", "--as", "node-1", "lease.claim", claim)
	run("node-1", true, "call", "object.release-ended", `{"key":"zla1:s:1:r","expectedStoreVersion":"1"}`)
	if out := run("client", false, "call", "lease.claim", claim); !strings.Contains(out, "forbidden: ") {
		t.Errorf("a client without a subject of its own: %s", out)
	}
	run("service", true, "doctor")
	run("operator", true, "doctor", "--operator")
	for _, r := range roles[1:] {
		run(r, true, "status")
		run(r, true, "list", "authority")
		run(r, true, "topology")
		out := run(r, true, "call", "lease.read", `{"ownerId":"node-1"}`)
		if !strings.Contains(out, `"found"`) {
			t.Errorf("%s reads %s", r, out)
		}
	}
	for _, r := range []string{"watcher", "operator"} {
		if out := run(r, true, "explain", "spot", "r1"); strings.Contains(out, "cannot be read") {
			t.Errorf("%s: %s", r, out)
		}
		watched(t, url, r)
	}
	reader := connectRole(t, url, "reader")
	changes, err := reader.SubscribeSync("zlink.v1.changes.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Flush(); err != nil {
		t.Fatal(err)
	}
	var token struct{ Token json.RawMessage }
	if err := json.Unmarshal([]byte(run("node-1", true, "call", "lease.read", `{"ownerId":"node-1"}`)), &token); err != nil {
		t.Fatal(err)
	}
	run("node-1", true, "call", "--as", "node-1", "lease.release", `{"token":`+string(token.Token)+`}`)
	if m, err := changes.NextMsg(patience); err != nil || m.Subject != "zlink.v1.changes.owner-lease.owner.node-1" {
		t.Errorf("reader receives %v, %v", m, err)
	}
	l := connectRole(t, url, "operator")
	if _, err := l.Request("$SRV.INFO.zlink", nil, patience); err != nil {
		t.Errorf("operator asks the framework: %v", err)
	}
}

// watched has a role watch from the beginning until the first change comes.
func watched(t *testing.T, url, role string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "zlink-nats", "watch", "--all", "--server", url, "--user", role, "--password", role, "--inbox-prefix", inboxOf(role))
	c.Env = []string{}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = c.Wait() }()
	first := make([]byte, 1)
	if _, err := out.Read(first); err != nil || first[0] != '{' {
		t.Errorf("%s watches %q: %v", role, first, err)
	}
}
