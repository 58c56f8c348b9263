package handlers

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

// sender is on whose subject a request arrived. The subject alone says so, between instances as well: what a client may publish on
// is for the NATS server to know, while any client can write any header.
type sender struct {
	owned bool   // on a subject of an owner
	owner string // its id; empty, which no owner is, if the subject names none
}

// senderOf reads a subject that begins with a prefix.
func senderOf(p subjects.Prefix, subject string) (sender, subjects.Operation) {
	if owner, op, err := p.ParseAs(subject); err == nil {
		return sender{owned: true, owner: owner}, op
	}
	return sender{}, subjects.Operation(strings.TrimPrefix(subject, string(p)+"."))
}

// subject is where an instance takes the request of this sender.
func (f sender) subject(p subjects.Prefix, op subjects.Operation) string {
	if f.owned {
		return p.As(f.owner, op)
	}
	return p.Operation(op)
}

// mayActFor returns errForbidden unless a request may act for an owner. An empty owner is nobody, for whom anybody may act.
func (s *Service) mayActFor(r *request, owner string) error {
	switch {
	case owner == "" || s.mayActForAll(r) || owner == r.sender.owner:
		return nil
	case r.sender.owned:
		return fmt.Errorf("%w: the request acts for owner %q on the subject of %q", errForbidden, owner, r.sender.owner)
	}
	return fmt.Errorf("%w: the request acts for owner %q, which is taken on %s.<operation> only", errForbidden, owner,
		strings.TrimSuffix(s.prefix.As(owner, ""), "."))
}

func (s *Service) mayActForAll(r *request) bool { return !r.sender.owned && !s.ownerSubjects }

// mayActForRow is mayActFor for the owner of the row that a request is about.
func (s *Service) mayActForRow(r *request, tx *kvstore.Tx, req any) error {
	if s.mayActForAll(r) {
		return nil
	}
	owner, err := domain.ActsForRow(tx.View, req)
	if err != nil {
		return err
	}
	return s.mayActFor(r, owner)
}

// decodeWrite is decode for what may act for an owner. Errors besides: errForbidden.
func decodeWrite[Req any](s *Service, r *request, validate func(*Req) error) (*Req, error) {
	req, err := decode(r, validate)
	if err != nil {
		return nil, err
	}
	return req, s.mayActFor(r, domain.ActsFor(req))
}

// subscribeOwners takes every operation on the subjects of all owners too. They are no endpoints of the framework, which would list
// and count each operation twice: the endpoint of an operation names them.
func (s *Service) subscribeOwners(base context.Context) error {
	for _, e := range s.endpoints {
		sub, err := s.conn.QueueSubscribe(s.prefix.AsWildcard(e.op), micro.DefaultQueueGroup, func(m *nats.Msg) {
			from := sender{owned: true}
			from.owner, _, _ = s.prefix.ParseAs(m.Subject)
			s.accept(base, e, message{header: m.Header, data: m.Data, replyTo: m.Reply, sender: from})
		})
		if err != nil {
			return err
		}
		s.subs = append(s.subs, sub)
		if err := sub.SetPendingLimits(-1, maxPendingBytes); err != nil {
			return err
		}
	}
	return nil
}
