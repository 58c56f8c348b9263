package main

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long scripts wait for what has to come.
const patience = 30 * time.Second

// programs are those that a script runs in the background.
type programs struct{ byName map[string]*program }

type programsKey struct{}

func named(ts *testscript.TestScript, name string) *program {
	p := ts.Value(programsKey{}).(*programs).byName[name]
	if p == nil {
		ts.Fatalf("no program %q was started", name)
	}
	return p
}

// kill ends what a script has left running.
func (ps *programs) kill() {
	for _, p := range ps.byName {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	}
}

// program is a running program and what it has printed so far.
type program struct {
	cmd    *exec.Cmd
	out    output
	err    output
	ended  chan struct{}
	result error // of waiting for it; set before ended is closed

	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed at the next output and at the end
}

// output is one of a program's streams.
type output struct {
	of   *program
	mu   sync.Mutex   // guards text
	text bytes.Buffer // everything so far
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	n, err := o.text.Write(data)
	o.mu.Unlock()
	o.of.notify()
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (p *program) notify() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *program) nextChange() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// launch starts a program. It gets the addresses of a service only by its flags
// or where env says so.
func launch(ts *testscript.TestScript, name string, env []string, argv ...string) *program {
	path := argv[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if candidate := filepath.Join(dir, argv[0]); isFile(candidate) {
			path = candidate
			break
		}
	}
	p := &program{cmd: exec.Command(path, argv[1:]...), ended: make(chan struct{}), changed: make(chan struct{})}
	p.out.of, p.err.of = p, p
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = ts.MkAbs("."), &p.out, &p.err
	p.cmd.Env = append(env, "PATH="+ts.Getenv("PATH"), "HOME="+ts.Getenv("HOME"), "TMPDIR="+ts.Getenv("TMPDIR"), "GORACE="+ts.Getenv("GORACE"))
	ts.Check(p.cmd.Start())
	go func() {
		p.result = p.cmd.Wait()
		close(p.ended)
		p.notify()
	}()
	ts.Value(programsKey{}).(*programs).byName[name] = p
	return p
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// await returns what the pattern matched, once it does.
func (p *program) await(ts *testscript.TestScript, pattern string) []string {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	timeout := time.After(patience)
	for {
		changed := p.nextChange()
		for _, text := range []string{p.out.String(), p.err.String()} {
			if m := re.FindStringSubmatch(text); m != nil {
				return m
			}
		}
		select {
		case <-changed:
			continue
		case <-p.ended:
			if re.MatchString(p.out.String()) || re.MatchString(p.err.String()) {
				continue
			}
			ts.Fatalf("ended (%v) without %q:\n%s%s", p.result, pattern, p.out.String(), p.err.String())
		case <-timeout:
			ts.Fatalf("no %q within %v:\n%s%s", pattern, patience, p.out.String(), p.err.String())
		}
	}
}

func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	p := launch(ts, args[0], []string{"NATS_URL=" + ts.Getenv("NATS_URL")}, args[2:]...)
	p.await(ts, args[1])
}

func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	// Scripts end programs, but cut no power: nothing has to be on the disk.
	argv := append([]string{"zlink-nats", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--sync", "1m"}, args[1:]...)
	m := launch(ts, args[0], nil, argv...).await(ts, `^ready (\S+)(?: (\S+))?$`)
	u, err := url.Parse(m[1])
	ts.Check(err)
	ts.Setenv("NATS_URL", m[1])
	ts.Setenv("LISTEN", u.Host)
	ts.Setenv("HTTP", m[2])
}

func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	named(ts, args[0]).await(ts, args[1])
}

var signals = map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "KILL": os.Kill}

func cmdSend(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(named(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	p := named(ts, args[0])
	if len(args) > 1 {
		cmdSend(ts, false, args)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("has not ended:\n%s%s", p.out.String(), p.err.String())
	}
	_, _ = io.Copy(ts.Stdout(), strings.NewReader(p.out.String()))
	_, _ = io.Copy(ts.Stderr(), strings.NewReader(p.err.String()))
	if exit, ok := errors.AsType[*exec.ExitError](p.result); p.result != nil && !ok {
		ts.Fatalf("%v", p.result)
	} else if (exit != nil) != neg {
		ts.Fatalf("ended with %v:\n%s%s", p.cmd.ProcessState, p.out.String(), p.err.String())
	}
}
