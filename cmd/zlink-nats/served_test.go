package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// served is the built program that serves, with a NATS server of its own.
type served struct {
	t         *testing.T
	nats      string // URL
	http      string // URL; empty when it is off
	terminate func() error
}

// startProgram starts the program. Arguments that name a variable, such as A=B, go to its
// environment. It ends with the test.
func startProgram(t *testing.T, args ...string) *served {
	t.Helper()
	serve := exec.CommandContext(t.Context(), "zlink-nats", "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--sync", "2m")
	serve.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, a := range args {
		if strings.Contains(a, "=") && !strings.HasPrefix(a, "-") {
			serve.Env = append(serve.Env, a)
		} else {
			serve.Args = append(serve.Args, a)
		}
	}
	serve.Stderr = t.Output()
	serve.Cancel = func() error { return serve.Process.Signal(syscall.SIGTERM) }
	serve.WaitDelay = patience
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, terminate: sync.OnceValue(func() error {
		_ = serve.Cancel() // it may have ended
		return serve.Wait()
	})}
	t.Cleanup(func() { _ = s.terminate() }) // whoever wants to know how it ended has asked
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	s.nats = words[1]
	if len(words) > 2 {
		s.http = words[2]
	}
	return s
}

func (s *served) connect() *nats.Conn {
	s.t.Helper()
	nc, err := nats.Connect(s.nats)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

// scrape is what Prometheus gets.
func (s *served) scrape() string {
	s.t.Helper()
	reply, err := http.Get(s.http + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		s.t.Fatalf("scrape: %s, %v\n%s", reply.Status, err, text)
	}
	return string(text)
}
