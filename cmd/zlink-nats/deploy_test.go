package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/zlink/zlink-nats/embedded"
	"github.com/zlink/zlink-nats/testenv"
)

// composed is what a test looks at of deploy/compose.yaml.
type composed struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Build       struct {
			Context, Dockerfile string
		} `yaml:"build"`
		DependsOn []string      `yaml:"depends_on"`
		Grace     time.Duration `yaml:"stop_grace_period"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

func readCompose(t *testing.T) *composed {
	t.Helper()
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := new(composed)
	if err := yaml.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// serverOptions are the options of the NATS server that a command line of the compose file starts, as the server itself reads them.
func serverOptions(t *testing.T, command []string) *server.Options {
	t.Helper()
	args := slices.Clone(command)
	for i := range args {
		args[i] = strings.Replace(args[i], "/etc/nats/", "../../deploy/nats/", 1) // where the file mounts it
	}
	nothing := func() {}
	o, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ContinueOnError), args, nothing, nothing, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestComposeRuns starts what the compose file does, on other ports and without containers: its three servers from their command
// lines and files, and its two instances with their command lines and variables.
//
// Not parallel: it sets environment variables.
func TestComposeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three servers")
	}
	for _, pair := range rolePasswords() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	c := readCompose(t)
	names := []string{"n1", "n2", "n3"}
	var routes []*url.URL
	for _, address := range testenv.FreeAddresses(t, len(names)) {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: address})
	}
	var urls []string
	for i, name := range names {
		s := c.Services[name]
		o := serverOptions(t, s.Command)
		var hosts []string
		for _, r := range o.Routes {
			hosts = append(hosts, r.Host)
		}
		if got, want := fmt.Sprint(hosts), "[n1:6222 n2:6222 n3:6222]"; o.ServerName != name || got != want || o.Cluster.Name != "zlink" || o.Cluster.Port != 6222 {
			t.Errorf("%s is %q of cluster %q on port %d with routes %s, want %s", name, o.ServerName, o.Cluster.Name, o.Cluster.Port, got, want)
		}
		if !slices.Contains(s.Volumes, name+":"+o.StoreDir) || !slices.Contains(s.Volumes, "./nats:/etc/nats:ro") {
			t.Errorf("%s stores in %s, its volumes are %v", name, o.StoreDir, s.Volumes)
		}
		for _, pair := range rolePasswords() {
			if variable, _, _ := strings.Cut(pair, "="); s.Environment[variable] != "${"+variable+":?}" {
				t.Errorf("%s does not pass %s on", name, variable)
			}
		}
		urls = append(urls, startComposed(t, o, routes, i).ClientURL())
	}

	for _, name := range []string{"zlink-1", "zlink-2"} {
		s := c.Services[name]
		var servers []string
		for _, n := range names {
			servers = append(servers, "nats://"+n+":4222")
		}
		if got := strings.Split(s.Environment["ZLINK_SERVER"], ","); !slices.Equal(got, servers) || !slices.Equal(s.DependsOn, names) {
			t.Errorf("%s connects to %v, want %v", name, got, servers)
		}
		env := []string{
			"ZLINK_SERVER=" + strings.Join(urls, ","), "ZLINK_USER=" + s.Environment["ZLINK_USER"], "ZLINK_PASSWORD=" + s.Environment["ZLINK_USER"],
		}
		testenv.Eventually(t, 3*patience, func() bool { return composedServes(t, env, s.Command) }, name+" serves, once there is a leader")
	}
}

// startComposed starts the i-th server, on the i-th of the routes and with an empty directory.
func startComposed(t *testing.T, o *server.Options, routes []*url.URL, i int) *server.Server {
	t.Helper()
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, t.TempDir(), true, true
	port, err := strconv.Atoi(routes[i].Port())
	if err != nil {
		t.Fatal(err)
	}
	o.Cluster.Host, o.Cluster.Port, o.Routes = "127.0.0.1", port, routes
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("server is not ready")
	}
	return srv
}

// composedServes starts an instance and tells whether it came to serve. It ends with the test.
func composedServes(t *testing.T, env, command []string) bool {
	t.Helper()
	serve := exec.CommandContext(t.Context(), "zlink-nats", append(slices.Clone(command), "--http", "127.0.0.1:0")...)
	serve.Env = env
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	serve.WaitDelay = patience
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // none if it ended
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "ready" {
		t.Logf("not yet: %v", serve.Wait())
		return false
	}
	t.Cleanup(func() { _ = serve.Wait() })
	_, http, _ := strings.Cut(words[2], "//")
	for _, args := range [][]string{{"ready", "--http", http}, {"status"}} {
		command := exec.CommandContext(t.Context(), "zlink-nats", args...)
		command.Env = env
		text, err := command.CombinedOutput()
		if err != nil || args[0] == "status" && !regexp.MustCompile(`(?m)^replicas +3$`).Match(text) {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	return true
}

// TestServerFilesFitTheService: what the files say is what the service asks for, and their images are of the version it is tested with.
//
// Not parallel: it sets environment variables.
func TestServerFilesFitTheService(t *testing.T) {
	for _, pair := range rolePasswords() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	for _, file := range []string{"server.conf", "cluster.conf"} {
		o := serverOptions(t, []string{"-c", "/etc/nats/" + file})
		if !o.JetStream || o.StoreDir != "/data" || o.Port != 4222 || o.MaxPayload != pagePayload || o.JetStreamLimits.MaxBatchSize != embedded.DefaultMaxBatchSize {
			t.Errorf("%s: JetStream %t in %s, port %d, messages of %d bytes, batches of %d", file, o.JetStream, o.StoreDir, o.Port, o.MaxPayload, o.JetStreamLimits.MaxBatchSize)
		}
		if len(o.Users) != len(roles) {
			t.Errorf("%s: %d users, want %d", file, len(o.Users), len(roles))
		}
	}
	for name, s := range readCompose(t).Services {
		if strings.HasPrefix(name, "n") && s.Image != "nats:"+server.VERSION {
			t.Errorf("%s runs %s, want nats:%s", name, s.Image, server.VERSION)
		}
		if strings.HasPrefix(name, "zlink") && !isFile(filepath.Join("../../deploy", s.Build.Context, s.Build.Dockerfile)) {
			t.Errorf("%s is built from %+v, which is not there", name, s.Build)
		}
		if most := 10*time.Second + exportTimeout; strings.HasPrefix(name, "zlink") && s.Grace <= most {
			t.Errorf("%s is killed %v after SIGTERM, and may take %v", name, s.Grace, most)
		}
	}
}

// dockerfile returns what follows an instruction of deploy/Dockerfile, line by line.
func dockerfile(t *testing.T, instruction string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, instruction+" "); ok {
			all = append(all, strings.TrimSpace(rest))
		}
	}
	return all
}

// TestImage builds the program as the Dockerfile does, and runs it as the image does: with nothing around it but its variables.
func TestImage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "zlink-nats")
	i := slices.IndexFunc(dockerfile(t, "RUN"), func(line string) bool { return strings.Contains(line, "go build") })
	if i < 0 {
		t.Fatal("the Dockerfile does not build the program")
	}
	build := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(dockerfile(t, "RUN")[i], "-o /zlink-nats", "-o "+program, 1))
	build.Dir = "../.."
	build.Env = append(os.Environ(), "VERSION=1.2.3", "COMMIT=c0ffee", "GOFLAGS=-buildvcs=false")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	isStatic(t, program)

	var env []string
	for pair := range strings.FieldsSeq(strings.Join(dockerfile(t, "ENV"), " ")) {
		pair = strings.Replace(pair, "/data", filepath.Join(dir, "data"), 1)
		pair = regexp.MustCompile(`0\.0\.0\.0:\d+`).ReplaceAllString(pair, "127.0.0.1:0")
		env = append(env, pair)
	}
	run := func(args ...string) string {
		command := exec.CommandContext(t.Context(), program, args...)
		command.Env, command.Dir = []string{}, dir
		text, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
		return string(text)
	}
	if text := run("version"); !strings.Contains(text, "1.2.3") || !strings.Contains(text, "c0ffee") {
		t.Errorf("version: %s", text)
	}
	serve := exec.CommandContext(t.Context(), program, "serve")
	serve.Env, serve.Dir = env, dir
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	serve.WaitDelay = patience
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = serve.Cancel(); _ = serve.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 {
		t.Fatalf("line %q: %v", line, err)
	}
	var check []string
	if err := json.Unmarshal([]byte(dockerfile(t, "HEALTHCHECK")[0][strings.Index(dockerfile(t, "HEALTHCHECK")[0], "["):]), &check); err != nil {
		t.Fatal(err)
	}
	run(append(check[1:], "--http", strings.TrimPrefix(words[2], "http://"))...)
}

// isStatic fails the test when a program needs anything of the system it runs on.
func isStatic(t *testing.T, program string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // images are of linux
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v: it is not static", p.Type)
		}
	}
}

// TestUnit has systemd look at the unit, with the program where it is here.
func TestUnit(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("zlink-nats")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/systemd/zlink-nats.service")
	if err != nil {
		t.Fatal(err)
	}
	const start = "ExecStart=/usr/local/bin/zlink-nats serve\n"
	if !bytes.Contains(text, []byte(start)) {
		t.Fatalf("the unit does not have %q", start)
	}
	// By default systemd gives up after five starts in ten seconds, as many as there are while NATS is away.
	for _, setting := range []string{"Restart=always", "StartLimitIntervalSec=0"} {
		if !bytes.Contains(text, []byte("\n"+setting+"\n")) {
			t.Errorf("the unit does not have %q", setting)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	unit := filepath.Join(t.TempDir(), "zlink-nats.service")
	if err := os.WriteFile(unit, bytes.Replace(text, []byte(start), []byte("ExecStart="+program+" serve\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
