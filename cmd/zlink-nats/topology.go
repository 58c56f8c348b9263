package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// topologyCmd is the command topology.
type topologyCmd struct {
	config.Client
	Mesh string `arg:"" optional:"" help:"Mesh to show; all when left out."`
	Live bool   `help:"Leave out nodes whose owner's lease is over."`
	JSON bool   `name:"json" help:"Print each mesh as a line of JSON, with its nodes."`
}

// Help is shown with --help.
func (*topologyCmd) Help() string {
	return `Show all meshes, and the mesh "play" alone:

    zlink-nats topology
    zlink-nats topology play

A node that is not live has lost its owner's lease: it has stopped, or cannot reach the service. ACTORS and SPOTS are "active+reserved/limit".`
}

// mesh is a mesh and its nodes.
type mesh struct {
	wire.TopologyMesh
	Nodes []wire.MeshNodeItem `json:"nodes"`
}

// Run reads the meshes and prints them.
func (c *topologyCmd) Run() error {
	service, err := newCaller(&c.Client)
	if err != nil {
		return err
	}
	defer service.Close()
	count := 0
	for summary, err := range each[wire.TopologyMesh](service, meshesOf(c.Mesh, c.Live)) {
		if err != nil {
			return err
		}
		if err := c.show(service, summary, count > 0); err != nil {
			return err
		}
		count++
	}
	if count > 0 || c.JSON {
		return nil
	}
	text, err := c.nothing(service)
	if err == nil {
		fmt.Fprintln(os.Stderr, text)
	}
	return err
}

// meshesOf lists a mesh, or all when there is no name.
func meshesOf(name string, live bool) listing {
	return listing{op: subjects.TopologySummary, live: live, request: func(p wire.PageRequest) any {
		return &wire.TopologySummaryRequest{MeshName: name, PageRequest: p}
	}}
}

// nodesOf lists the nodes of a mesh.
func nodesOf(mesh string, live bool) listing {
	return listing{op: subjects.MeshNodeList, live: live, request: func(p wire.PageRequest) any {
		return &wire.MeshNodeListRequest{MeshName: mesh, PageRequest: p}
	}}
}

// show prints a mesh, behind an empty line if it is not the first.
func (c *topologyCmd) show(service *caller, summary *wire.TopologyMesh, further bool) error {
	m := mesh{TopologyMesh: *summary, Nodes: []wire.MeshNodeItem{}}
	for node, err := range each[wire.MeshNodeItem](service, nodesOf(m.MeshName, c.Live)) {
		if err != nil {
			return err
		}
		m.Nodes = append(m.Nodes, *node)
	}
	if c.JSON {
		return printLine(&m)
	}
	if further {
		fmt.Println()
	}
	_, err := m.page().WriteTo(os.Stdout)
	return err
}

// printLine prints a message of the protocol as a line of JSON.
func printLine(message any) error {
	line, err := wire.Marshal(wire.JSON, message)
	if err != nil {
		return err
	}
	return writeJSON(os.Stdout, line)
}

func (m *mesh) page() *bytes.Buffer {
	var b bytes.Buffer
	fmt.Fprintf(&b, "mesh %s: %s, %d ready, %d in error, %d lost; last change %s\n", cut(shown(m.MeshName), cellWidth),
		plural(int(m.TotalCount), "node"), m.ReadyCount, m.ErrorCount, m.StoppedCount, at(m.LastUpdatedAt))
	t := table(&b)
	writeRow(t, "  ", meshNodeHead)
	for i := range m.Nodes {
		writeRow(t, "  ", meshNodeCells(&m.Nodes[i]))
	}
	_ = t.Flush() // into memory
	return &b
}

// nothing says that there is no such mesh, and which there are.
func (c *topologyCmd) nothing(service *caller) (string, error) {
	var names []string
	for m, err := range each[wire.TopologyMesh](service, meshesOf("", false)) {
		if err != nil {
			return "", err
		}
		names = append(names, shown(m.MeshName))
	}
	switch {
	case len(names) == 0 && c.Mesh != "":
		return fmt.Sprintf("no nodes in mesh %q, and there is no other mesh: a node appears with mesh-node.update", c.Mesh), nil
	case len(names) == 0:
		return "no meshes: a mesh is there as soon as a node is, with mesh-node.update", nil
	case c.Mesh == "":
		return "no mesh has a live node: without --live those are shown too whose owner's lease is over", nil
	case c.Live && slices.Contains(names, shown(c.Mesh)):
		return fmt.Sprintf("no live nodes in mesh %q: without --live those are shown too whose owner's lease is over", c.Mesh), nil
	default:
		return fmt.Sprintf("no nodes in mesh %q%s", c.Mesh, suggest(c.Mesh, names)), nil
	}
}
