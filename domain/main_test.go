package domain_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneGoroutine leaves a long test without concurrency to the run without the race
// detector, which takes an eighth of the time and finds the same (make test does both).
func oneGoroutine(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("has one goroutine: runs without the race detector")
	}
}
