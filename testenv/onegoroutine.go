package testenv

import "testing"

// OneGoroutine leaves a long test that asks for one thing after the other to the run without the race detector, which takes a
// fraction of the time and finds the same; make test makes both runs.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if RaceDetector {
		t.Skip("asks for one thing after the other: runs without the race detector")
	}
}
