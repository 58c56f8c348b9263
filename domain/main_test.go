package domain_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A random history is in one goroutine: what many of them tell, they tell without the
	// race detector, which finds nothing in them. The command line still wins.
	if raceDetector {
		if err := flag.Set("rapid.checks", "5"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// oneGoroutine leaves a long test without concurrency to the run without the race
// detector, which takes an eighth of the time and finds the same (make test does both).
func oneGoroutine(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("has one goroutine: runs without the race detector")
	}
}
