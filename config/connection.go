package config

import (
	"strings"
	"time"
)

// Connection says how to reach NATS, in the words of the NATS tools. Settings
// given here win over those of the named context.
type Connection struct {
	// Server is a list of URLs joined by commas; empty means that none was given.
	Server string `short:"s" env:"ZLINK_SERVER,NATS_URL" placeholder:"URL" help:"NATS server URLs, joined by commas."`
	// Context is the name of a context of the NATS tools, or the path of its file; empty means none.
	Context string `env:"ZLINK_CONTEXT,NATS_CONTEXT" placeholder:"NAME" help:"Context of the NATS tools to take the connection from."`
	// Creds is the path of a credentials file.
	Creds string `type:"path" env:"ZLINK_CREDS,NATS_CREDS" placeholder:"FILE" help:"User credentials file."`
	// NKey is the path of a file with the seed of a user NKey.
	NKey string `name:"nkey" type:"path" env:"ZLINK_NKEY,NATS_NKEY" placeholder:"FILE" help:"File with the seed of a user NKey."`
	// User is a user name, or a token when there is no password.
	User string `env:"ZLINK_USER,NATS_USER" placeholder:"USER" help:"User name; without a password, a token."`
	// Password belongs to User.
	Password string `env:"ZLINK_PASSWORD,NATS_PASSWORD" placeholder:"PASSWORD" help:"Password of the user."`
	// TLSCert is the path of the client's certificate, in PEM.
	TLSCert string `name:"tlscert" type:"path" env:"ZLINK_TLSCERT,NATS_CERT" placeholder:"FILE" help:"TLS client certificate."`
	// TLSKey is the path of the private key of TLSCert, in PEM.
	TLSKey string `name:"tlskey" type:"path" env:"ZLINK_TLSKEY,NATS_KEY" placeholder:"FILE" help:"Private key of the TLS client certificate."`
	// TLSCA is the path of the certificates to trust, in PEM; empty means the system's.
	TLSCA string `name:"tlsca" type:"path" env:"ZLINK_TLSCA,NATS_CA" placeholder:"FILE" help:"TLS certificate authorities to trust."`
	// InboxPrefix begins the subjects of replies; empty means "_INBOX".
	InboxPrefix string `env:"ZLINK_INBOX_PREFIX,NATS_INBOX_PREFIX" placeholder:"PREFIX" help:"What the subjects of replies begin with, for users that may not subscribe to _INBOX.>."`
	// JSDomain is the JetStream domain of the streams; empty means the server's own.
	JSDomain string `name:"js-domain" env:"ZLINK_JS_DOMAIN,NATS_JS_DOMAIN" placeholder:"DOMAIN" help:"JetStream domain that holds the streams."`
	// Timeout bounds the wait for the connection and for an answer; at least 1 ms.
	// The default lets the service's own limit of 10 s speak first.
	Timeout time.Duration `default:"15s" env:"ZLINK_TIMEOUT,NATS_TIMEOUT" help:"Time to wait for the connection and for an answer."`
}

// External tells whether a NATS server outside the process was named.
func (c *Connection) External() bool { return c.Server != "" || c.Context != "" }

// Validate returns an [*InvalidError] for the first setting out of range.
func (c *Connection) Validate() error {
	switch {
	case c.Password != "" && c.User == "":
		return &InvalidError{"user", "", "the user of the password"}
	case c.TLSCert != "" && c.TLSKey == "":
		return &InvalidError{"tlskey", "", "the private key of the certificate"}
	case c.TLSKey != "" && c.TLSCert == "":
		return &InvalidError{"tlscert", "", "the certificate of the private key"}
	case strings.ContainsAny(c.JSDomain, ".*> \t\r\n"):
		return &InvalidError{"js-domain", c.JSDomain, "one word without . * >"}
	case c.InboxPrefix != "" && !isSubject(c.InboxPrefix):
		return &InvalidError{"inbox-prefix", c.InboxPrefix, "tokens of A-Z a-z 0-9 - _ joined by dots"}
	}
	return atLeast("timeout", c.Timeout, time.Millisecond)
}

// Client is what a program needs to talk to the service.
type Client struct {
	Connection
	// Prefix begins every subject of the service: tokens joined by dots.
	Prefix string `default:"zlink.v1" env:"ZLINK_PREFIX" help:"What every subject of the service begins with."`
}

// maxPrefix bounds the length of the prefix: the subject of a change adds two
// names of 255 bytes, escaped, and has to fit into one NATS protocol line.
const maxPrefix = 128

// Validate returns an [*InvalidError] when the prefix is not one.
func (c *Client) Validate() error {
	if len(c.Prefix) > maxPrefix {
		return &InvalidError{"prefix", c.Prefix, "at most 128 bytes"}
	}
	if !isSubject(c.Prefix) {
		return &InvalidError{"prefix", c.Prefix, "tokens of A-Z a-z 0-9 - _ joined by dots"}
	}
	return nil
}
