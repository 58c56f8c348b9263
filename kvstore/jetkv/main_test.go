package jetkv_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) {
	// A check of a property opens stores on a server; the 100 of the default
	// would take half a minute. The command line still wins.
	if err := flag.Set("rapid.checks", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testenv.VerifyNoLeaks(m)
}
