// Package peer runs the service and the systems that it is compared with: etcd, Redis, and bare NATS.
//
// # Model
//
// Every server runs in a child process of its own, so that its CPU time and garbage are not the load generator's. The
// children of etcd and NATS are this very binary, started again with a hidden first argument: a program that uses this
// package calls [ServeChild] first thing in main, a test binary in TestMain. Redis is the machine's redis-server, and the
// service its own program, built for the purpose; each is kept by such a child.
//
// # Life cycle
//
// A child tells its address on standard output once it serves, and ends when its standard input closes. So it ends
// with its parent, however the parent ends. Data lives in a temporary folder that [Group.Close] removes; nobody will read
// it again, so servers are not shut down gently.
package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// childArg is the hidden first argument that makes this binary a child; the second is its spec as JSON.
const childArg = "serve-peer"

// exitGrace is how long a child may take to end before it is killed.
const exitGrace = 5 * time.Second

// spec says what a child serves: exactly one field is set.
type spec struct {
	Etcd  *etcdSpec  `json:",omitempty"`
	NATS  *natsSpec  `json:",omitempty"`
	Redis *redisSpec `json:",omitempty"`
	Echo  *echoSpec  `json:",omitempty"`

	Service *serviceSpec `json:",omitempty"`
}

// server is one kind of spec. serve returns once the server answers at addr; stop ends what would outlive the process.
type server interface {
	serve() (addr string, stop func(), err error)
}

func (s spec) server() (server, error) {
	switch {
	case s.Etcd != nil:
		return s.Etcd, nil
	case s.NATS != nil:
		return s.NATS, nil
	case s.Redis != nil:
		return s.Redis, nil
	case s.Echo != nil:
		return s.Echo, nil
	case s.Service != nil:
		return s.Service, nil
	}
	return nil, errors.New("empty spec")
}

// nothingToStop is the stop of a server that ends with its process.
func nothingToStop() {}

// ServeChild does nothing in a normal process. In a child it serves until the parent is gone, then exits.
func ServeChild() {
	if len(os.Args) != 3 || os.Args[1] != childArg {
		return
	}
	signal.Ignore(os.Interrupt) // Ctrl-C reaches the whole process group; the parent decides when a child ends
	if err := serveChild(os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveChild(doc string, in io.Reader, out io.Writer) error {
	var s spec
	if err := json.Unmarshal([]byte(doc), &s); err != nil {
		return fmt.Errorf("serve peer: %w", err)
	}
	srv, err := s.server()
	if err != nil {
		return fmt.Errorf("serve peer: %w", err)
	}
	addr, stop, err := srv.serve()
	if err != nil {
		return fmt.Errorf("serve peer: %w", err)
	}
	defer stop()
	if _, err := fmt.Fprintln(out, addr); err != nil {
		return fmt.Errorf("serve peer: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// child is a running child process.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
	log   *tail
}

// startChild returns once the child serves. A child that ends early is reported with the end of its log.
func startChild(ctx context.Context, s spec) (*child, error) {
	doc, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, childArg, string(doc)), log: &tail{}}
	c.cmd.Stderr = c.log
	c.cmd.WaitDelay = exitGrace // a killed child may leave a process behind that holds the log open
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	unwatch := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() }) // ends the read below
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if !unwatch() || err != nil {
		return nil, errors.Join(errors.New("peer ended before it served"), ctx.Err(), c.close())
	}
	c.addr = strings.TrimSpace(line)
	return c, nil
}

// close ends the child and waits for it. It reports a child that had failed before, with the end of its log.
func (c *child) close() error {
	_ = c.stdin.Close() // a child that is gone already shows in Wait
	kill := time.AfterFunc(exitGrace, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("peer process: %w: %s", err, c.log.String())
	}
	return nil
}

// tail keeps the end of what is written to it. It is read only after the writer is done.
type tail struct{ buf bytes.Buffer }

// tailBytes is enough for the last lines of a log.
const tailBytes = 4096

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.buf.Write(p[max(0, n-tailBytes):])
	t.buf.Next(max(0, t.buf.Len()-tailBytes))
	return n, nil
}

// String returns what was kept.
func (t *tail) String() string { return strings.TrimSpace(t.buf.String()) }
