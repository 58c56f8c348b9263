package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotInstalled says that a peer is not on this machine.
var ErrNotInstalled = errors.New("not installed")

// redisPoll is how often a starting Redis is asked whether it serves.
const redisPoll = 10 * time.Millisecond

// redisSpec is one Redis server that appends every command to its log and syncs the log before it answers.
type redisSpec struct {
	Program string // path of redis-server
	Dir     string
	Port    int
}

// Redis starts a Redis server and returns its address. It returns [ErrNotInstalled] when there is no redis-server on
// the PATH.
func (g *Group) Redis(ctx context.Context) (string, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", ErrNotInstalled
	}
	ports, err := freePorts(1)
	if err != nil {
		return "", err
	}
	dir, err := g.newDir("redis")
	if err != nil {
		return "", err
	}
	addrs, err := g.start(ctx, spec{Redis: &redisSpec{Program: program, Dir: dir, Port: ports[0]}})
	if err != nil {
		return "", fmt.Errorf("start redis: %w", err)
	}
	return addrs[0], nil
}

func (s *redisSpec) serve() (string, func(), error) {
	cmd := exec.Command(s.Program, "--bind", loopback, "--port", strconv.Itoa(s.Port), "--dir", s.Dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--loglevel", "warning")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-exited
	}
	addr := hostPort(s.Port)
	if err := awaitRedis(addr, exited); err != nil {
		_ = cmd.Process.Kill()
		return "", nil, err
	}
	return addr, stop, nil
}

func awaitRedis(addr string, exited <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	tick := time.NewTicker(redisPoll)
	defer tick.Stop()
	for client.Ping(ctx).Err() != nil {
		select {
		case err := <-exited:
			return fmt.Errorf("redis-server ended: %w", err)
		case <-ctx.Done():
			return errors.New("redis does not become ready")
		case <-tick.C:
		}
	}
	return nil
}

// RedisVersion returns what the redis-server on the PATH says of its version, such as "7.0.15"; empty when there is
// none, or when it does not say.
func RedisVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		return ""
	}
	for word := range strings.FieldsSeq(string(out)) {
		if version, ok := strings.CutPrefix(word, "v="); ok {
			return version
		}
	}
	return ""
}
