package testenv_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/testenv"
)

// failing is a test that notes its failure.
type failing struct {
	testing.TB
	failure string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestEventuallyWaitsForTheCondition(t *testing.T) {
	t.Parallel()
	asked := 0
	testenv.Eventually(t, time.Minute, func() bool {
		asked++
		return asked == 5
	}, "five questions")
}

func TestEventuallyFailsTheTestAfterTheDeadline(t *testing.T) {
	t.Parallel()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		testenv.Eventually(f, 10*time.Millisecond, func() bool { return false }, "pigs", 2, "fly")
	}()
	<-done
	if !strings.Contains(f.failure, "10ms") || !strings.Contains(f.failure, "pigs 2 fly") {
		t.Errorf("failure = %q, want the time and what was waited for", f.failure)
	}
}
