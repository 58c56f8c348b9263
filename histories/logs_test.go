package histories_test

import (
	"bytes"
	"log/slog"
	"sync"
)

// logs keeps what the instances log at error level: bugs and damaged data.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func newLogs() *logs { return new(logs) }

// named is the log of one instance.
func (l *logs) named(id string) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelError})).With("instance", id)
}

// Write implements io.Writer.
func (l *logs) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
