package client_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestEachCodeHasOneSentinel(t *testing.T) {
	t.Parallel()
	of := make(map[error]wire.Code)
	for _, code := range []wire.Code{
		wire.CodeInvalidArgument, wire.CodeForbidden, wire.CodeDeadlineExceeded, wire.CodeScanExpired, wire.CodeTooLarge,
		wire.CodeOverloaded, wire.CodeInternal, wire.CodeDataLost, wire.CodeUnavailable, wire.CodeOutcomeUnknown,
	} {
		sentinel := client.Sentinels()[code]
		if sentinel == nil || of[sentinel] != "" {
			t.Errorf("code %s has sentinel %v, which %q has too", code, sentinel, of[sentinel])
		}
		of[sentinel] = code
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, client.Options{Timeout: 1e9})
			w.line.expect(refused(code), refused(code), refused(code), refused(code), refused(code), refused(code), refused(code),
				refused(code), refused(code), refused(code), refused(code), refused(code), refused(code), refused(code), refused(code))
			_, err := w.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: "a", TTL: 1})
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Code != code || e.Op != "lease.claim" || !errors.Is(err, sentinel) {
				t.Errorf("refused with %s: got %v, want %v", code, err, sentinel)
			}
			for other, sentinel := range client.Sentinels() {
				if other != code && errors.Is(err, sentinel) {
					t.Errorf("refused with %s: %v also matches %v", code, err, sentinel)
				}
			}
		})
	}
	if len(of) != len(client.Sentinels()) {
		t.Errorf("%d sentinels for %d codes", len(client.Sentinels()), len(of))
	}
}

func TestRefusalNamesTheField(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		_, err := w.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: "a"})
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Field != "leaseTtlMs" || !errors.Is(err, client.ErrInvalidArgument) || len(w.line.tries()) != 1 {
			t.Errorf("got %v after %d tries, want the field leaseTtlMs after 1", err, len(w.line.tries()))
		}
	})
}

func TestEveryOperationIsKnown(t *testing.T) {
	t.Parallel()
	verbs := map[string]bool{"read": true, "list": true, "resolve": true, "find": true, "await": true, "read-terminal": true, "get": true, "select": true, "scan": true, "summary": true}
	for _, op := range subjects.Operations() {
		reads, known := client.Reads(op)
		if !known || reads != verbs[op.Verb()] {
			t.Errorf("%s: known %v, read %v; want true, %v", op, known, reads, verbs[op.Verb()])
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]client.Options{
		"prefix with a wildcard": {Prefix: "a.*"}, "time below zero": {Timeout: -1}, "try of no time": {TryTimeout: 1},
	} {
		if _, err := client.New(nil, o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
