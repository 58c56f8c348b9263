package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/zlink/zlink-nats/config"
)

// link is a connection to NATS, and where JetStream is behind it.
type link struct {
	*nats.Conn
	domain string
}

// dial connects a client as c says, to the local server when it names none.
// Options given besides win.
func dial(c *config.Connection, besides ...nats.Option) (*link, error) {
	l, err := connect(c, besides...)
	if err != nil {
		return nil, explainConnect(c, err, "start it, for example with 'zlink-nats serve', or name another with --server")
	}
	return l, nil
}

func connect(c *config.Connection, besides ...nats.Option) (*link, error) {
	opts, err := connectOptions(c)
	if err != nil {
		return nil, err
	}
	opts = append(opts, besides...)
	l := &link{domain: c.JSDomain}
	if c.Context != "" {
		var settings natscontext.Settings
		understood := false // once all options were taken, what fails is the connection
		l.Conn, settings, err = natscontext.Connect(c.Context, append(opts, servers(c.Server), func(*nats.Options) error {
			understood = true
			return nil
		})...)
		if err != nil && !understood {
			return nil, &usageError{fmt.Sprintf("--context %s: %v", c.Context, err)}
		}
		if l.domain == "" {
			l.domain = settings.JSDomain
		}
	} else {
		l.Conn, err = nats.Connect(serverList(c), opts...)
	}
	return l, err
}

// connectOptions are the options of the NATS client for c.
func connectOptions(c *config.Connection) ([]nats.Option, error) {
	opts := []nats.Option{nats.Name("zlink-nats"), nats.Timeout(c.Timeout), nats.MaxReconnects(-1)}
	switch {
	case c.Password != "":
		opts = append(opts, nats.UserInfo(c.User, c.Password))
	case c.User != "":
		opts = append(opts, nats.Token(c.User))
	}
	if c.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	if c.NKey != "" {
		nkey, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("--nkey %s: %v", c.NKey, err)}
		}
		opts = append(opts, nkey)
	}
	if c.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	if c.TLSCert != "" {
		opts = append(opts, nats.ClientCert(c.TLSCert, c.TLSKey))
	}
	if c.TLSCA != "" {
		opts = append(opts, nats.RootCAs(c.TLSCA))
	}
	return opts, nil
}

func serverList(c *config.Connection) string {
	if c.Server == "" {
		return nats.DefaultURL
	}
	return c.Server
}

// servers replaces the servers of a context by a list; an empty list keeps them.
func servers(list string) nats.Option {
	return func(o *nats.Options) error {
		if list != "" {
			o.Url, o.Servers = "", strings.Split(list, ",")
		}
		return nil
	}
}

// explainConnect says what a failure to connect means; mend says what to do when
// nobody is there.
func explainConnect(c *config.Connection, err error, mend string) error {
	if usage, ok := errors.AsType[*usageError](err); ok {
		return usage
	}
	where := redact(serverList(c))
	if c.Context != "" {
		where = fmt.Sprintf("of context %q", c.Context)
	}
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return fmt.Errorf("NATS %s refuses the credentials (%w): give others with --creds, --nkey or --user", where, err)
	}
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return &usageError{fmt.Sprintf("cannot read %s: %v: name another file", file.Path, file.Err)}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("NATS %s has a certificate that is not trusted (%w): name its authority with --tlsca", where, err)
	}
	return fmt.Errorf("cannot connect to NATS %s (%w): %s", where, err, mend)
}

// redact removes passwords from a list of URLs.
func redact(list string) string {
	shown := strings.Split(list, ",")
	for i, s := range shown {
		if u, err := url.Parse(s); err == nil {
			shown[i] = u.Redacted()
		}
	}
	return strings.Join(shown, ",")
}

// jetStream is JetStream in the domain of the link.
func (l *link) jetStream() (jetstream.JetStream, error) {
	if l.domain == "" {
		return jetstream.New(l.Conn)
	}
	return jetstream.NewWithDomain(l.Conn, l.domain)
}

// api is what the subjects of the JetStream API begin with.
func (l *link) api() string {
	if l.domain == "" {
		return jetstream.DefaultAPIPrefix
	}
	return "$JS." + l.domain + ".API."
}

// violation is what the server refused last for want of a permission; nil when
// something else came after it, or nothing was refused.
func (l *link) violation() error {
	if err := l.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

// explainJetStream says what a failure of JetStream means where the code alone
// would be a riddle.
func (l *link) explainJetStream(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("JetStream is off at NATS %s, where the service keeps everything: turn it on with 'jetstream: enabled' in the server's configuration (and for this account), or give its --js-domain (%w)", l.ConnectedUrlRedacted(), err)
	case errors.Is(err, context.DeadlineExceeded) && l.violation() != nil:
		return fmt.Errorf("JetStream at NATS %s does not answer, or this user may not hear it: let the user publish to $JS.API.>, or name the inbox that it may subscribe to with --inbox-prefix (%w)", l.ConnectedUrlRedacted(), l.violation())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("JetStream at NATS %s does not answer: does its cluster have a leader, and may this user publish to $JS.API.>? (%w)", l.ConnectedUrlRedacted(), err)
	default:
		return err
	}
}
