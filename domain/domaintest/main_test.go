package domaintest_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) {
	// A check opens stores on a server, and few steps lead nowhere: fewer checks
	// than the 100 of the default, of more steps than its 30. The command line still
	// wins.
	for name, value := range map[string]string{"rapid.checks": "3", "rapid.steps": "200"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testenv.VerifyNoLeaks(m)
}
