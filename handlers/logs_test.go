package handlers_test

import (
	"context"
	"log/slog"
	"sync"
)

// logs keeps the log records of a test.
type logs struct {
	mu      sync.Mutex
	records []slog.Record // guarded by mu
}

func (l *logs) Enabled(context.Context, slog.Level) bool { return true }
func (l *logs) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logs) WithGroup(string) slog.Handler            { return l }

func (l *logs) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	return nil
}

// find returns the attributes of the records at error level, latest last.
func (l *logs) errors() []map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []map[string]string
	for _, r := range l.records {
		if r.Level < slog.LevelError {
			continue
		}
		attrs := make(map[string]string)
		r.Attrs(func(a slog.Attr) bool {
			attrs[a.Key] = a.Value.String()
			return true
		})
		found = append(found, attrs)
	}
	return found
}
