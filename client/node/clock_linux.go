package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is a clock that also counts the time that the machine was suspended: Go's own does not. It is a system call, of some
// hundred nanoseconds.
func monotonic() func() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return processClock() // a kernel before 2.6.39, or a sandbox
	}
	return func() time.Duration {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it did not fail above
		return time.Duration(t.Nano())
	}
}
