package main

import (
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
)

// newLogger makes a log on stderr: JSON, or text, which has colours when a person is
// looking.
func newLogger(format, leastLevel string) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(leastLevel)) // one of the flag's names, all of which it knows
	switch {
	case format == "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	case isTerminal(os.Stderr):
		return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: level}))
	default:
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
