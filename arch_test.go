// Package zlinknats_test checks what no reviewer should have to: which way the
// doors between the packages open.
package zlinknats_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/zlink/zlink-nats/"

// listed is what `go list` tells about a package.
type listed struct {
	ImportPath string
	Doc        string
	Imports    []string
	Deps       []string
}

// rule bans imports of a package and says why. An import path that ends in "/"
// bans everything below it.
type rule struct {
	from, ban, why string
}

var rules = []rule{
	{"subjects", module, "names are at the bottom: everybody imports them"},
	{"fenced", module, "appending to a stream is no matter of what is appended"},
	{"wire", module, "the vocabulary of the protocol is at the bottom: clients import it"},
	{"config", module, "settings know nothing of what they set"},
	{"telemetry", module, "clients and the service import it"},
	{"telemetry", "go.opentelemetry.io/otel/sdk/", "the program alone chooses what becomes of spans and figures"},
	{"telemetry", "go.opentelemetry.io/otel/exporters/", "the program alone chooses what becomes of spans and figures"},
	{"handlers", "go.opentelemetry.io/otel/sdk/", "the program alone chooses what becomes of spans and figures"},
	{"handlers", "go.opentelemetry.io/otel/exporters/", "the program alone chooses what becomes of spans and figures"},
	{"instance", "go.opentelemetry.io/otel/sdk/", "the program alone chooses what becomes of spans and figures"},
	{"instance", "go.opentelemetry.io/otel/exporters/", "the program alone chooses what becomes of spans and figures"},
	{"client", "go.opentelemetry.io/otel/sdk/", "the program alone chooses what becomes of spans and figures"},
	{"client", "go.opentelemetry.io/otel/exporters/", "the program alone chooses what becomes of spans and figures"},
	{"kvstore", "go.opentelemetry.io/", "the store tells callers what they ask for, and knows no observer"},
	{"kvstore/jetkv", "go.opentelemetry.io/", "the store tells callers what they ask for, and knows no observer"},
	{"domain", "go.opentelemetry.io/", "rules do not know who watches them"},
	{"embedded", module, "the embedded server is a NATS server and nothing else"},
	{"kvstore", module + "domain", "the store knows no domain word"},
	{"kvstore", module + "handlers", "the store knows no domain word"},
	{"kvstore", module + "wire", "the store knows no domain word"},
	{"kvstore", "github.com/nats-io/", "the contract names no engine"},
	{"kvstore/memkv", "github.com/nats-io/", "the reference lives in memory"},
	{"kvstore/jetkv", module + "domain", "the engine knows no domain word"},
	{"kvstore/jetkv", module + "handlers", "the engine knows no domain word"},
	{"kvstore/jetkv", module + "wire", "the engine knows no domain word"},
	{"dashboard", module, "the page knows nothing but what it is given"},
	{"domain", "github.com/nats-io/", "rules are written against the contract of the store"},
	{"domain", module + "kvstore/", "rules are written against the contract of the store"},
	{"domain", module + "handlers", "rules do not know who calls them"},
	{"handlers", module + "kvstore/", "handlers are written against the contract of the store"},
	{"handlers/feed", module + "kvstore/", "the feed is written against the contract of the store"},
	{"client", module + "kvstore", "a client knows the protocol and nothing else"},
	{"client", module + "domain", "a client knows the protocol and nothing else"},
	{"client", module + "handlers", "a client knows the protocol and nothing else"},
	{"client", module + "instance", "a client knows the protocol and nothing else"},
	{"client/peers", module + "kvstore", "a client knows the protocol and nothing else"},
	{"client/peers", module + "domain", "a client knows the protocol and nothing else"},
	{"client/peers", module + "handlers", "a client knows the protocol and nothing else"},
	{"client/peers", module + "instance", "a client knows the protocol and nothing else"},
	{"client/peers", module + "client/", "connections to peers know nothing of who writes the host's own rows"},
	{"client/node", module + "kvstore", "a client knows the protocol and nothing else"},
	{"client/node", module + "domain", "a client knows the protocol and nothing else"},
	{"client/node", module + "handlers", "a client knows the protocol and nothing else"},
	{"client/node", module + "instance", "a client knows the protocol and nothing else"},
	{"client/node", "github.com/nats-io/", "a host speaks to the directory through the client alone"},
	{"client/node", "go.opentelemetry.io/otel/sdk/", "the program alone chooses what becomes of spans and figures"},
	{"client/node", "go.opentelemetry.io/otel/exporters/", "the program alone chooses what becomes of spans and figures"},
	{"measure", module + "kvstore", "a deployment is measured from outside"},
	{"measure", module + "domain", "a deployment is measured from outside"},
	{"measure", module + "handlers", "a deployment is measured from outside"},
	{"testenv", module + "handlers", "test servers know nothing of the service"},
	{"testenv", module + "kvstore", "test servers know nothing of the service"},
}

// serverUsers may link the NATS server; nobody else, so that clients stay small.
// kvtest and instancetest are for tests: only tests link them.
var serverUsers = map[string]bool{"embedded": true, "testenv": true, "kvstore/kvtest": true, "instance/instancetest": true, "cmd/zlink-nats": true}

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, r := range rules {
			if r.from != name {
				continue
			}
			for _, i := range p.Imports {
				if i == r.ban || strings.HasSuffix(r.ban, "/") && strings.HasPrefix(i, r.ban) {
					t.Errorf("%s imports %s, but %s", name, i, r.why)
				}
			}
		}
	}
}

func TestOnlyTheProgramAndTestsLinkTheServer(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if serverUsers[name] {
			continue
		}
		for _, d := range p.Deps {
			if strings.HasPrefix(d, "github.com/nats-io/nats-server/") {
				t.Errorf("%s links %s", name, d)
				break
			}
		}
	}
}

// clientBans is what no program that only calls the service shall have to build.
var clientBans = []string{"github.com/nats-io/nats-server/", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters/", "github.com/prometheus/"}

// clientNeeds is what it takes of this module.
var clientNeeds = map[string]bool{"subjects": true, "telemetry": true, "wire": true}

func TestClientsStaySmall(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if strings.TrimPrefix(p.ImportPath, module) != "client" {
			continue
		}
		for _, d := range p.Deps {
			for _, ban := range clientBans {
				if strings.HasPrefix(d, ban) {
					t.Errorf("client links %s", d)
				}
			}
			if rest, ours := strings.CutPrefix(d, module); ours && !clientNeeds[rest] {
				t.Errorf("client links %s of this module", rest)
			}
		}
		return
	}
	t.Error("there is no package client")
}

func TestEveryPackageHasADocComment(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if p.Doc == "" && p.ImportPath+"/" != module {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps=false", "-json=ImportPath,Doc,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
