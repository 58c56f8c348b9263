package main

import (
	"log/slog"
	"os"

	"github.com/lmittmann/tint"

	"github.com/zlink/zlink-nats/config"
)

// newLogger makes the service's log on stderr: JSON, or text, which has colours
// when a person is looking.
func newLogger(c *config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // one of the flag's names, all of which it knows
	switch {
	case c.LogFormat == "json":
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
