package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Kill ends the node as if its process were killed: every acknowledged message
// is on the disk, but nothing that a server writes when it goes down (index and
// consumer states) is. The connections and, in a cluster, the other members
// still learn of the end at once, as they do when a process dies.
//
// It takes the data directory away first: what the server writes to files that
// are open lands there, anything else comes to nothing.
func (n *Node) Kill() {
	n.t.Helper()
	if !n.Running() {
		return
	}
	killed := n.opts.Dir + ".killed"
	n.must(os.Rename(n.opts.Dir, killed))
	n.Stop()
	n.must(os.RemoveAll(n.opts.Dir))
	n.must(os.Rename(killed, n.opts.Dir))
}

// CopyDir copies the node's data and returns where the copy is, for
// [Node.RestoreDir]. A running node is stopped for it and started again.
func (n *Node) CopyDir(t testing.TB) string {
	t.Helper()
	backup := filepath.Join(t.TempDir(), "copy")
	n.whileDown(func() { n.must(os.CopyFS(backup, os.DirFS(n.opts.Dir))) })
	return backup
}

// RestoreDir replaces the node's data by a copy made with [Node.CopyDir], which
// may be restored again later. A running node is stopped for it and started
// again: to its clients it is a server that lost its latest writes.
func (n *Node) RestoreDir(t testing.TB, backup string) {
	t.Helper()
	n.whileDown(func() {
		n.must(os.RemoveAll(n.opts.Dir))
		n.must(os.CopyFS(n.opts.Dir, os.DirFS(backup)))
	})
}

func (n *Node) whileDown(f func()) {
	n.t.Helper()
	running := n.Running()
	n.Stop()
	f()
	if running {
		n.Start()
	}
}

func (n *Node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}
