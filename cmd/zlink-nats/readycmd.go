package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/zlink/zlink-nats/config"
)

// readyCmd is the command ready.
type readyCmd struct {
	HTTP    string        `name:"http" default:"127.0.0.1:8280" env:"ZLINK_HTTP" help:"Address of the instance's HTTP listener, as serve has it."`
	Timeout time.Duration `default:"5s" help:"Time to wait for an answer."`
}

// Help is shown with --help.
func (*readyCmd) Help() string {
	return `Ask the instance on this machine whether a commit went through lately:

    zlink-nats ready

It exits with 1 when the instance is not ready, and says why.`
}

// Run asks for /readyz.
func (c *readyCmd) Run() error {
	if c.HTTP == config.Off {
		return &usageError{"--http off: an instance without its HTTP listener cannot be asked; use 'zlink-nats status', which any instance answers"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.HTTP+"/readyz", http.NoBody)
	if err != nil {
		return &usageError{fmt.Sprintf("--http %s: %v", c.HTTP, err)}
	}
	// Not by a proxy that the environment names: 0.0.0.0, as containers listen, does not count as this machine.
	answer, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		return fmt.Errorf("no answer from the instance at %s: %w", c.HTTP, err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close() // only read
	if err != nil {
		return fmt.Errorf("answer of the instance at %s: %w", c.HTTP, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the instance at %s is not ready: %s", c.HTTP, strings.TrimSpace(string(text)))
	}
	fmt.Println("ready")
	return nil
}

// maxAnswer is far above the size of an answer, in bytes.
const maxAnswer = 64 << 10
