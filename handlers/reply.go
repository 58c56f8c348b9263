package handlers

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// result is what an endpoint answers.
type result struct {
	body     any              // a reply of package wire
	revision kvstore.Revision // the store revision that it reflects
	relayed  *nats.Msg        // instead of both: the reply of another instance
	parked   bool             // the request waits and is answered later
	writer   string           // not empty: nothing was done, and this instance is to do it
}

// answer publishes the result or the error and returns what became of the request.
func (s *Service) answer(e *endpoint, r *request, res result, err error) string {
	if err == nil && res.relayed != nil {
		if err = s.send(e, &nats.Msg{Subject: r.replyTo, Header: res.relayed.Header, Data: res.relayed.Data}); err == nil {
			return OutcomeForwarded
		}
	}
	if err == nil {
		if err = s.answerResult(e, r, res); err == nil {
			return OutcomeOK
		}
	}
	return s.answerError(e, r, res.revision, err)
}

// answerResult returns an error when the result cannot be sent, so that the error can be.
func (s *Service) answerResult(e *endpoint, r *request, res result) error {
	data, err := encode(r.encoding, res.body)
	if err != nil {
		return err
	}
	return s.send(e, &nats.Msg{Subject: r.replyTo, Header: s.header(r.encoding, res.revision), Data: data})
}

// send publishes a reply that is not a refusal of this instance, or returns an error when it does not fit into a message. The
// servers of two instances may differ in what fits.
func (s *Service) send(e *endpoint, m *nats.Msg) error {
	if s.publish(e, m) {
		return nil
	}
	err := fmt.Errorf("%w: a reply of %d bytes and its headers, the server's max_payload is %d",
		kvstore.ErrTooLarge, len(m.Data), s.out.MaxPayload())
	if e.writes() {
		// Whoever hears "too large" takes it that nothing was written.
		err = fmt.Errorf("%w: %w", kvstore.ErrUnknown, err)
	}
	return err
}

// encode makes an error of a reply that cannot be written, which is a bug.
func encode(enc wire.Encoding, body any) (data []byte, err error) {
	defer recovered(&err)
	return wire.Marshal(enc, body)
}

func (s *Service) answerError(e *endpoint, r *request, revision kvstore.Revision, err error) string {
	d := detail(err)
	report(s.log, e.op, d.Code, err)
	if revision == 0 {
		revision = s.store.Status().Revision
	}
	header := maps.Clone(s.header(r.encoding, revision))
	header[wire.HeaderError] = []string{d.Message}
	header[wire.HeaderErrorCode] = []string{strconv.Itoa(d.Code.Status())}
	body, err := wire.Marshal(r.encoding, wire.ErrorBody{Error: d})
	if err != nil {
		s.log.Error("encode refusal", "op", string(e.op), "err", err)
	}
	s.publish(e, &nats.Msg{Subject: r.replyTo, Header: header, Data: body})
	return string(d.Code)
}

// resultHeader is the header of results in one encoding at one revision.
type resultHeader struct {
	revision kvstore.Revision
	header   nats.Header
}

// header returns the header of a result, which must not be changed: most replies show the same revision as the one before, and
// then share the header. To make one costs as much as a read.
func (s *Service) header(enc wire.Encoding, revision kvstore.Revision) nats.Header {
	last := s.headers[enc].Load()
	if last == nil || last.revision != revision {
		last = &resultHeader{revision, nats.Header{
			wire.HeaderContentType: {enc.ContentType()},
			wire.HeaderRevision:    {revision.String()},
		}}
		s.headers[enc].Store(last)
	}
	return last.header
}

// publish sends a reply and tells whether the server takes messages of its size. No other failure has anyone to be told: whoever
// waits is out of reach, and the connection reports its own state.
func (s *Service) publish(e *endpoint, m *nats.Msg) (fits bool) {
	if m.Subject == "" {
		return true
	}
	if s.reserved(m.Subject) {
		s.log.Warn("reply is not sent to a subject of the service's own", slog.String("op", string(e.op)),
			slog.String("reply", m.Subject))
		return true
	}
	err := s.out.PublishMsg(m)
	if err != nil {
		s.log.Debug("publish reply", slog.String("op", string(e.op)), slog.Any("err", err))
	}
	return !errors.Is(err, nats.ErrMaxPayload)
}

// reserved tells whether nobody waits for replies on a subject: a client that named it would write with the rights of the
// service, into the store, the stream of changes, or another request.
func (s *Service) reserved(subject string) bool {
	return strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, string(s.prefix)+".")
}
