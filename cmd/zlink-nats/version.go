package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

// Set by the linker for releases (-X main.version=1.2.3 -X main.commit=...);
// otherwise what the Go tool has recorded is used.
var version, commit string

// build describes the program.
type build struct {
	Version string // semantic version, without a leading v
	Commit  string // empty when unknown
	Go      string
	modules map[string]string // version by module path
}

// ownBuild reads what the program knows of itself.
func ownBuild() build {
	b := build{Version: version, Commit: commit, modules: make(map[string]string)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "0.0.0")
		return b
	}
	b.Go = info.GoVersion
	if v, ok := strings.CutPrefix(info.Main.Version, "v"); ok { // else it is "(devel)" or empty
		b.Version = cmp.Or(b.Version, v)
	}
	b.Version = cmp.Or(b.Version, "0.0.0")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = cmp.Or(b.Commit, s.Value)
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.modules[m.Path] = m.Version
	}
	return b
}

// versionCmd is the command version.
type versionCmd struct{}

// Help is shown with --help.
func (versionCmd) Help() string {
	return `Show the versions:

    zlink-nats version`
}

// Run prints the versions.
func (versionCmd) Run() error {
	b := ownBuild()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "zlink-nats\t%s\n", b.Version)
	fmt.Fprintf(w, "commit\t%s\n", cmp.Or(b.Commit, "unknown"))
	fmt.Fprintf(w, "go\t%s\n", cmp.Or(b.Go, "unknown"))
	for _, m := range []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go"} {
		fmt.Fprintf(w, "%s\t%s\n", m, cmp.Or(b.modules[m], "unknown"))
	}
	return w.Flush()
}
