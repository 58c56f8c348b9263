package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serviceModule is the module whose program is measured.
const serviceModule = "github.com/zlink/zlink-nats"

// ServiceOptions says how to start the service.
type ServiceOptions struct {
	// Servers are the client URLs of the NATS servers to use. Empty means the one inside the service's process.
	Servers []string
	// Replicas is how many of Servers store each row; not used without them.
	Replicas int
	// Sync is when the NATS server inside the process writes through to the disk: "always", or a period such as "2m".
	// Not used with Servers.
	Sync string
}

// serviceSpec is one instance of the service.
type serviceSpec struct {
	Program string
	Args    []string
}

// Service builds the service from the sources beside this module, starts an instance, and returns the URL of the NATS
// server that it is connected to.
func (g *Group) Service(ctx context.Context, o ServiceOptions) (string, error) {
	program, err := g.build(ctx)
	if err != nil {
		return "", fmt.Errorf("build the service: %w", err)
	}
	args := []string{"serve", "--http", "off", "--log-level", "error"}
	if len(o.Servers) > 0 {
		args = append(args, "--server", strings.Join(o.Servers, ","), "--replicas", strconv.Itoa(o.Replicas))
	} else {
		dir, err := g.newDir("service")
		if err != nil {
			return "", err
		}
		args = append(args, "--listen", hostPort(0), "--data", dir, "--sync", o.Sync)
	}
	addrs, err := g.start(ctx, spec{Service: &serviceSpec{Program: program, Args: args}})
	if err != nil {
		return "", fmt.Errorf("start the service: %w", err)
	}
	return addrs[0], nil
}

// build makes the group's copy of the program, once. It is built in the service's own module, so with the dependencies
// that it is released with.
func (g *Group) build(ctx context.Context) (string, error) {
	if g.program != "" {
		return g.program, nil
	}
	source, err := goTool(ctx, "list", "-m", "-f", "{{.Dir}}", serviceModule)
	if err != nil {
		return "", err
	}
	program, err := filepath.Abs(filepath.Join(g.dir, "zlink-nats"))
	if err != nil {
		return "", err
	}
	if _, err := goTool(ctx, "build", "-C", source, "-o", program, "./cmd/zlink-nats"); err != nil {
		return "", err
	}
	g.program = program
	return program, nil
}

// goTool runs the go command and returns what it prints.
func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	log := &tail{}
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, log)
	}
	return strings.TrimSpace(string(out)), nil
}

func (s *serviceSpec) serve() (string, func(), error) {
	cmd := exec.Command(s.Program, s.Args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), isSetting)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	late := time.AfterFunc(readyWithin, func() { _ = cmd.Process.Kill() }) // ends the read below
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	url, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !late.Stop() || !ready {
		stop()
		return "", nil, errors.New("the service does not become ready")
	}
	return url, stop, nil
}

// isSetting tells whether a variable would change what the arguments say.
func isSetting(variable string) bool {
	return strings.HasPrefix(variable, "ZLINK_") || strings.HasPrefix(variable, "NATS_")
}
