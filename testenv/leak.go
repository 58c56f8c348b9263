package testenv

import (
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks runs the tests of a package that starts servers and fails when
// goroutines are left. A loop of the NATS server that writes the state of a stream
// now and then may end a little after its server. A store that the server makes while
// it shuts down, such as that of a batch which is being staged, is never stopped: its
// loops go on, and so does the clock that all stores of the process share.
func VerifyNoLeaks(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*msgBlock).flushLoop"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}
