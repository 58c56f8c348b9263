package main

import (
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"zlink-nats": main})
}

// TestScripts shows each thing that a user does, and each failure with the
// sentence that mends it. Besides testscript's own commands the scripts have
// those below.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		// Far above what any script takes; a service that starts where it should
		// refuse would otherwise run until the whole test is given up.
		Deadline: time.Now().Add(10 * patience),
		Setup: func(e *testscript.Env) error {
			ps := &programs{byName: make(map[string]*program)}
			e.Values[programsKey{}] = ps
			e.Defer(ps.kill)
			// Otherwise each program sleeps for a second at its end when it has the race
			// detector, in case that one has something to say about what still runs.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// Programs in the background.
			"start": cmdStart, // start NAME PATTERN PROGRAM ARG...: until its output matches
			"serve": cmdServe, // serve NAME ARG...: a service on free ports; sets $NATS_URL, $LISTEN, $HTTP
			"await": cmdAwait, // await NAME PATTERN: until its output matches
			"end":   cmdEnd,   // [!] end NAME [SIGNAL]: shows its output; with ! it must fail
			"send":  cmdSend,  // send NAME SIGNAL

			"readme":       cmdReadme,      // readme FILE TEXT: the session of the README that begins with a text, without its watch
			"document":     cmdDocument,    // document FILE PATH: all sessions of a document, one after the other; service and clients meet at $NATS_URL
			"free-address": cmdFreeAddress, // free-address VAR: one that nothing listens on
			"capture":      cmdCapture,     // capture VAR PATTERN: the group of the pattern in the last stdout

			// What other programs do to the service.
			"http":        cmdHTTP,        // http STATUS PATH [PATTERN]: shows the answer, waits for the status and the pattern
			"ask":         cmdAsk,         // [!] ask OPERATION FILE [N]: the request in the file with $VARS, and $I from 1 to N; shows the reply, with ! it must be an error
			"old-server":  cmdOldServer,   // sets $OLD_URL to the NATS server as one of 2.13
			"old-service": cmdOldService,  // old-service PREFIX: a service that has status.get and no other operation
			"relay":       cmdRelay,       // relay PREFIX [CODE]: serves under a prefix without aggregate.find and actor-transfer.resolve, or with ones that fail
			"edit-bucket": cmdEditBucket,  // turns atomic batches off
			"damage":      cmdDamage,      // damage FAMILY: overwrites the first row of a family
			"consumers":   cmdConsumers,   // consumers N: makes N on the bucket's stream
			"drop":        cmdDrop,        // drop N: removes all but the last N changes
			"certificate": cmdCertificate, // certificate CERT KEY: for 127.0.0.1, signed by itself
			"hang":        cmdHang,        // a request that waits for its deadline
			"subscribe":   cmdSubscribe,   // subscribe FILE N: takes N changes of a lease, without a library of ours
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
