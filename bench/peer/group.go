package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// loopback is where every peer listens.
const loopback = "127.0.0.1"

// Group is the set of servers of one comparison. It is not safe for concurrent use.
type Group struct {
	dir      string
	program  string // path of the service's program; empty until it is built
	children []*child
}

// NewGroup makes an empty group whose data goes to a new folder inside dir; empty means the system's temporary folder.
// The folder should be on a disk: where a sync costs nothing, a comparison of durable stores says little.
func NewGroup(dir string) (*Group, error) {
	dir, err := os.MkdirTemp(dir, "zlink-bench-")
	if err != nil {
		return nil, err
	}
	return &Group{dir: dir}, nil
}

// Close ends all servers, waits for them, and removes their data.
func (g *Group) Close() error {
	var wg errgroup.Group
	errs := make([]error, len(g.children))
	for i, c := range g.children {
		wg.Go(func() error { errs[i] = c.close(); return nil })
	}
	_ = wg.Wait()
	return errors.Join(errors.Join(errs...), os.RemoveAll(g.dir))
}

// start starts children that need each other to become ready, and returns their addresses in order.
func (g *Group) start(ctx context.Context, specs ...spec) ([]string, error) {
	children := make([]*child, len(specs))
	wg, ctx := errgroup.WithContext(ctx)
	for i, s := range specs {
		wg.Go(func() (err error) {
			children[i], err = startChild(ctx, s)
			return err
		})
	}
	err := wg.Wait()
	var addrs []string
	for _, c := range children {
		if c != nil {
			g.children = append(g.children, c)
			addrs = append(addrs, c.addr)
		}
	}
	return addrs, err
}

// newDir makes a data folder. Names repeat when a group holds two servers of a kind, so a random suffix is added.
func (g *Group) newDir(name string) (string, error) {
	return os.MkdirTemp(g.dir, filepath.Base(name)+"-")
}

// freePorts returns n different ports that nobody listens on. Another process may take one before it is used; the peer
// then fails to start, and says so.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp", hostPort(0))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // all stay open until the last is found, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
