package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// levelTrace is below debug: the server's protocol trace.
const levelTrace = slog.LevelDebug - 4

// bridge is the server's logger: it hands the lines to slog and remembers the
// first fatal one. The server has no other way to tell its embedder why it did
// not start, and goes on after a fatal line when the logger returns.
type bridge struct {
	log *slog.Logger

	mu    sync.Mutex // guards first
	first error
}

func newBridge(log *slog.Logger) *bridge {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &bridge{log: log.With("op", "nats-server")}
}

// debug reports whether debug lines are wanted; the server then makes them.
func (b *bridge) debug() bool { return b.log.Enabled(context.Background(), slog.LevelDebug) }

// fatal is the first fatal line as an error, or nil.
func (b *bridge) fatal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first
}

func (b *bridge) write(level slog.Level, format string, v []any) {
	if ctx := context.Background(); b.log.Enabled(ctx, level) {
		b.log.Log(ctx, level, fmt.Sprintf(format, v...))
	}
}

// Noticef implements [server.Logger]. What a server has to say when it starts is
// for those who debug it; the service says itself what matters.
func (b *bridge) Noticef(format string, v ...any) { b.write(slog.LevelDebug, format, v) }

// Warnf implements [server.Logger].
func (b *bridge) Warnf(format string, v ...any) { b.write(slog.LevelWarn, format, v) }

// Errorf implements [server.Logger].
func (b *bridge) Errorf(format string, v ...any) { b.write(slog.LevelError, format, v) }

// Debugf implements [server.Logger].
func (b *bridge) Debugf(format string, v ...any) { b.write(slog.LevelDebug, format, v) }

// Tracef implements [server.Logger].
func (b *bridge) Tracef(format string, v ...any) { b.write(levelTrace, format, v) }

// Fatalf implements [server.Logger]. It returns, and so keeps the process alive.
func (b *bridge) Fatalf(format string, v ...any) {
	b.write(slog.LevelError, format, v)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == nil {
		b.first = fmt.Errorf(format, v...)
	}
}
