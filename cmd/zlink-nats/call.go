package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// callCmd is the command call.
type callCmd struct {
	config.Client
	As        string `placeholder:"OWNER" help:"Send the request on the subjects of this owner: it can then act for no other, and where owner subjects are on, for no owner without it."`
	Operation string `arg:"" help:"Operation, such as lease.claim."`
	Request   string `arg:"" optional:"" default:"{}" name:"json" help:"Request as JSON; - reads it from stdin."`
}

// Help is shown with --help.
func (*callCmd) Help() string {
	return `Claim a lease, then read it, the second time with the request from stdin:

    zlink-nats call lease.claim '{"ownerId":"a","leaseTtlMs":15000}'
    echo '{"ownerId":"a"}' | zlink-nats call lease.read -

Renew it as its owner, where the service runs with --owner-subjects:

    zlink-nats call --as a lease.renew '{"token":{"ownerId":"a","leaseGeneration":"1"},"leaseTtlMs":15000}'

An error reply goes to stderr as "code: message (field)", and the command exits with 1.`
}

// Run sends the request and prints the reply.
func (c *callCmd) Run() error {
	op, err := findOperation(c.Operation)
	if err != nil {
		return err
	}
	request := []byte(c.Request)
	if c.Request == "-" {
		if request, err = io.ReadAll(os.Stdin); err != nil {
			return fmt.Errorf("read the request from stdin: %w", err)
		}
	}
	l, err := dial(&c.Connection)
	if err != nil {
		return err
	}
	defer l.Close()
	reply, err := exchangeOn(l, &c.Client, op, c.subject(op), request)
	if err != nil {
		return err
	}
	return printJSON(reply)
}

// subject is where the request goes.
func (c *callCmd) subject(op subjects.Operation) string {
	if c.As != "" {
		return subjects.Prefix(c.Prefix).As(c.As, op)
	}
	return subjects.Prefix(c.Prefix).Operation(op)
}

// findOperation returns the operation of that name, or names that are near.
func findOperation(name string) (subjects.Operation, error) {
	var names []string
	for _, op := range subjects.Operations() {
		if string(op) == name {
			return op, nil
		}
		names = append(names, string(op))
	}
	return "", &usageError{fmt.Sprintf("unknown operation %q%s", name, suggest(name, names))}
}

// exchange sends one request in JSON and returns the reply. An error reply is
// returned as an error.
func exchange(l *link, c *config.Client, op subjects.Operation, request []byte) ([]byte, error) {
	return exchangeOn(l, c, op, subjects.Prefix(c.Prefix).Operation(op), request)
}

// exchangeOn is exchange on a subject on which the operation is taken.
func exchangeOn(l *link, c *config.Client, op subjects.Operation, subject string, request []byte) ([]byte, error) {
	m := nats.NewMsg(subject)
	m.Data = request
	m.Header.Set(wire.HeaderContentType, wire.JSON.ContentType())
	reply, err := l.RequestMsg(m, c.Timeout)
	if err != nil {
		return nil, explainRequest(l, c, op, err)
	}
	if code := reply.Header.Get(wire.HeaderErrorCode); code != "" {
		return nil, replyError(reply)
	}
	return reply.Data, nil
}

// replyError is an error reply in one line.
func replyError(reply *nats.Msg) error {
	var body wire.ErrorBody
	if err := wire.UnmarshalLenient(wire.JSON, reply.Data, &body); err != nil { // not one of ours: the header has to do
		return fmt.Errorf("%s: %s", reply.Header.Get(wire.HeaderErrorCode), reply.Header.Get(wire.HeaderError))
	}
	text := fmt.Sprintf("%s: %s", body.Error.Code, body.Error.Message)
	if body.Error.Field != "" {
		text += fmt.Sprintf(" (%s)", body.Error.Field)
	}
	return &refusal{wire.Code(body.Error.Code), text}
}

// refusal is an error reply of the service.
type refusal struct {
	code wire.Code
	text string
}

func (r *refusal) Error() string { return r.text }

// isLost tells whether the service refused because it cannot read what is stored.
func isLost(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.code == wire.CodeDataLost
}

// errNoOperation is about an operation that a service of another version has.
var errNoOperation = errors.New("does not have the operation")

// explainRequest says why there is no reply.
func explainRequest(l *link, c *config.Client, op subjects.Operation, err error) error {
	switch where := l.ConnectedUrlRedacted(); {
	case errors.Is(err, nats.ErrNoResponders) && op != subjects.StatusGet && isServed(l, c):
		return fmt.Errorf("the service at %s %w %s", where, errNoOperation, op)
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the service is not running at %s under %q: start it with 'zlink-nats serve', or name another place with --server or --prefix", where, c.Prefix)
	case errors.Is(err, nats.ErrTimeout) && l.violation() != nil:
		return fmt.Errorf("no reply from %s within %v, as this user may not ask or not hear the answer (%w): give another user, its owner with --as, or the inbox that it may subscribe to with --inbox-prefix", where, c.Timeout, l.violation())
	case errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("no reply from %s within %v: the request may have been carried out or not; read before repeating it, or wait longer with --timeout", where, c.Timeout)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("the request is larger than the %d bytes that %s takes in one message: raise max_payload of the server", l.MaxPayload(), where)
	default:
		return err
	}
}

// isServed tells whether an instance of the service answers.
func isServed(l *link, c *config.Client) bool {
	_, err := l.Request(subjects.Prefix(c.Prefix).Operation(subjects.StatusGet), nil, c.Timeout)
	return err == nil
}

// printJSON prints a reply for people who read JSON.
func printJSON(reply []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, reply, "", "  "); err != nil {
		return fmt.Errorf("the reply is not JSON: %w", err)
	}
	return writeJSON(os.Stdout, text.Bytes())
}
