package embedded

import (
	"fmt"
	"os"
)

// dirLock is the ownership of a data directory. Two servers on one directory
// would destroy each other's files, and JetStream itself does not look.
type dirLock struct{ dir *os.File }

// lockDir makes dir when it is missing, checks that it can be written, and
// takes the ownership of it.
func lockDir(dir string) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("data directory %q: %w", dir, err)
	}
	if err := checkWritable(dir); err != nil {
		return nil, fmt.Errorf("data directory %q is not writable: %w", dir, err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", dir, err)
	}
	if err := flock(f); err != nil {
		_ = f.Close() // opened for reading: nothing to lose
		return nil, fmt.Errorf("%w: %q (%w)", ErrDirInUse, dir, err)
	}
	return &dirLock{dir: f}, nil
}

func checkWritable(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(f.Name())
}

// release gives the directory up; closing the file drops the lock.
func (l *dirLock) release() { _ = l.dir.Close() }
