package testenv

import (
	"fmt"
	"testing"
	"time"
)

const (
	firstPoll = time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// Eventually waits until cond is true and fails the test when it is not within
// the given time; msg (as for [fmt.Sprintln]) says what was waited for. cond is
// asked at once, after a millisecond, and then at growing distances of at most
// 50 ms. Use it for what cannot be waited for in another way: it is the only
// place of the tests that sleeps.
func Eventually(t testing.TB, within time.Duration, cond func() bool, msg ...any) {
	t.Helper()
	if !poll(within, cond) {
		t.Fatalf("not within %v: %s", within, fmt.Sprintln(msg...))
	}
}

// poll waits until cond is true, and reports whether it was within the time.
func poll(within time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(within)
	for wait := firstPoll; !cond(); wait = min(2*wait, lastPoll) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(wait)
	}
	return true
}
