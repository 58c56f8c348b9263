//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// flock is not there on this system: every directory counts as free.
func flock(*os.File) error { return nil }

// wsaAddressInUse is what Windows says for EADDRINUSE.
const wsaAddressInUse = syscall.Errno(10048)

func isAddressInUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse)
}
