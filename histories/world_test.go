package histories_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/testenv"
)

// world is what a run happens in: servers, two instances, and the ways of the callers to the servers.
type world struct {
	t        *testing.T
	replicas int
	cluster  *testenv.Nodes // nil with one server
	nodes    []*testenv.Node
	log      *logs

	instances [2]*member
	started   int    // instances so far
	ways      []*way // of the callers
}

// callerWays is how many ways the callers share: one may be cut while others can call.
const callerWays = 3

func newWorld(t *testing.T, replicas int) *world {
	t.Helper()
	w := &world{t: t, replicas: replicas, log: newLogs()}
	if replicas == 1 {
		w.nodes = []*testenv.Node{testenv.Server(t, testenv.ServerOptions{})}
	} else {
		w.cluster = testenv.Cluster(t, replicas, testenv.ServerOptions{})
		for i := range replicas {
			w.nodes = append(w.nodes, w.cluster.Node(i))
		}
	}
	for range callerWays {
		w.ways = append(w.ways, newWay(t, w.nodes))
	}
	for i := range w.instances {
		w.startInstance(i)
	}
	return w
}

// startInstance starts a new instance in a place; nothing says that it is the one before.
func (w *world) startInstance(place int) {
	w.t.Helper()
	w.started++
	w.instances[place] = startInstance(w, fmt.Sprintf("i%d", w.started), place)
}
