//go:build !linux

package node

import "time"

// monotonic is the clock of the runtime.
func monotonic() func() time.Duration { return processClock() }
