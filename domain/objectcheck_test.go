package domain_test

import (
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// oneMiB is the largest payload.
const oneMiB = 1 << 20

func validReserve() *wire.ObjectReserveRequest {
	takes := *roomCapacity.SpotType
	return &wire.ObjectReserveRequest{
		Key: keyOf("r1"), Intent: intentFor("room"), Target: validReservation("r1").target,
		CreatingPayload: wire.Bytes{}, Capacity: wire.Capacity{Spots: 1, SpotType: &takes}, ReservationID: otherReservation,
	}
}

func validReservation(id string) reservation {
	owner := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}
	return reservation{key: keyOf(id), id: otherReservation, version: "5", target: tgt("n1", owner)}
}

func validCommit() *wire.ObjectCommitRequest { return validReservation("r1").commit() }

func validCompletion(kind wire.CompletionKind) *wire.ObjectCompleteCreationRequest {
	return validReservation("a1").complete(kind, term(1))
}

func TestPartsOfCommit(t *testing.T) { // 1.6, C-04
	t.Parallel()
	type request = wire.ObjectCommitRequest
	fn := domain.ValidateObjectCommit
	parts(t, fn, validCommit, "key", func(r *request) *wire.ObjectKey { return &r.Key }, keyParts)
	parts(t, fn, validCommit, "key", func(r *request) *wire.ObjectKey { return &r.Key }, map[string]part[wire.ObjectKey]{
		"an actor":         {func(k *wire.ObjectKey) { k.Kind = wire.ObjectActor }, "kind"}, // 6.3
		"an instance spot": {func(k *wire.ObjectKey) { k.Kind = wire.ObjectInstanceSpot }, allowed},
	})
	parts(t, fn, validCommit, "reservationId", func(r *request) *string { return &r.ReservationID }, reservationIDs)
	parts(t, fn, validCommit, "reservationId", func(r *request) *string { return &r.ReservationID }, noText)
	parts(t, fn, validCommit, "expectedStoreVersion", func(r *request) *wire.Version { return &r.ExpectedStoreVersion }, versionParts)
	parts(t, fn, validCommit, "target", func(r *request) *wire.Target { return &r.Target }, targetParts)
}

var noText = map[string]part[string]{"empty": {func(s *string) { *s = "" }, ""}}

func TestPartsOfAbort(t *testing.T) { // 1.6
	t.Parallel()
	type request = wire.ObjectAbortRequest
	for _, id := range []string{"r1", "i1", "a1"} {
		valid, fn := func() *request { return validReservation(id).abort() }, domain.ValidateObjectAbort
		parts(t, fn, valid, "key", func(r *request) *wire.ObjectKey { return &r.Key }, keyParts)
		parts(t, fn, valid, "reservationId", func(r *request) *string { return &r.ReservationID }, reservationIDs)
		parts(t, fn, valid, "reservationId", func(r *request) *string { return &r.ReservationID }, noText)
		parts(t, fn, valid, "expectedStoreVersion", func(r *request) *wire.Version { return &r.ExpectedStoreVersion }, versionParts)
		parts(t, fn, valid, "target", func(r *request) *wire.Target { return &r.Target }, targetParts)
	}
}

func TestPartsOfCompletion(t *testing.T) { // 1.6, C-04, C-10
	t.Parallel()
	type request = wire.ObjectCompleteCreationRequest
	for _, kind := range completions {
		valid, fn := func() *request { return validCompletion(kind) }, domain.ValidateObjectCompleteCreation
		key := func(r *request) *wire.ObjectKey { return &r.Key }
		parts(t, fn, valid, "key", key, keyParts)
		parts(t, fn, valid, "key", key, map[string]part[wire.ObjectKey]{ // 6.5
			"a user spot":      {func(k *wire.ObjectKey) { k.Kind = wire.ObjectUserSpot }, "kind"},
			"an instance spot": {func(k *wire.ObjectKey) { k.Kind = wire.ObjectInstanceSpot }, "kind"},
		})
		parts(t, fn, valid, "reservationId", func(r *request) *string { return &r.ReservationID }, reservationIDs)
		parts(t, fn, valid, "expectedStoreVersion", func(r *request) *wire.Version { return &r.ExpectedStoreVersion }, versionParts)
		parts(t, fn, valid, "target", func(r *request) *wire.Target { return &r.Target }, targetParts)
		parts(t, fn, valid, "completion.terminal.operation", func(r *request) *wire.OperationKey {
			return &r.Completion.Terminal.Operation
		}, operationParts)
		parts(t, fn, valid, "completion.terminal", func(r *request) *wire.Terminal { return &r.Completion.Terminal }, terminalParts)
	}
}

var terminalParts = map[string]part[wire.Terminal]{
	"empty envelope": {func(t *wire.Terminal) {
		t.TerminalEnvelope, t.TerminalEnvelopeSHA256 = wire.Bytes{}, digestOf("")
	}, allowed},
	"digest of another envelope": {func(t *wire.Terminal) { t.TerminalEnvelopeSHA256 = digestOf("other") }, "terminalEnvelopeSha256"},
	"envelope of another digest": {func(t *wire.Terminal) { t.TerminalEnvelope = wire.Bytes("Done") }, "terminalEnvelopeSha256"},
	"no digest":                  {func(t *wire.Terminal) { t.TerminalEnvelopeSHA256 = nil }, "terminalEnvelopeSha256"},
	"digest cut short":           {func(t *wire.Terminal) { t.TerminalEnvelopeSHA256 = t.TerminalEnvelopeSHA256[:31] }, "terminalEnvelopeSha256"},
	"deadline before 1970":       {func(t *wire.Terminal) { t.OperationDeadline = -1 }, "operationDeadline"},
	"expiry that JSON can hold":  {func(t *wire.Terminal) { t.OperationDeadline = 1<<53 - 1 - 300_000 }, allowed},
	"expiry that it cannot":      {func(t *wire.Terminal) { t.OperationDeadline = 1<<53 - 300_000 }, "operationDeadline"},
}

func TestFormsOfCompletion(t *testing.T) { // 1.6, protocol 4
	t.Parallel()
	in := wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipUser}
	type edit = func(*wire.Completion)
	for name, tt := range map[string]struct {
		kind  wire.CompletionKind
		edit  edit
		field string // within the completion; empty when it is allowed
	}{
		"created":                       {wire.CompletionCreated, func(*wire.Completion) {}, ""},
		"created with empty payload":    {wire.CompletionCreated, func(c *wire.Completion) { c.ReadyPayload = wire.Bytes{} }, ""},
		"created without payload":       {wire.CompletionCreated, func(c *wire.Completion) { c.ReadyPayload = nil }, "readyPayload"},
		"created as a member":           {wire.CompletionCreated, func(c *wire.Completion) { c.Membership = &in }, ""},
		"rejected with a payload":       {wire.CompletionRejected, func(c *wire.Completion) { c.ReadyPayload = wire.Bytes{} }, "readyPayload"},
		"rejected as a member":          {wire.CompletionRejected, func(c *wire.Completion) { c.Membership = &in }, "membership"},
		"failed with a payload":         {wire.CompletionFailed, func(c *wire.Completion) { c.ReadyPayload = wire.Bytes{} }, "readyPayload"},
		"failed as a member":            {wire.CompletionFailed, func(c *wire.Completion) { c.Membership = &in }, "membership"},
		"no kind":                       {wire.CompletionFailed, func(c *wire.Completion) { c.Kind = "" }, "kind"},
		"unknown kind":                  {wire.CompletionFailed, func(c *wire.Completion) { c.Kind = "alreadyCompleted" }, "kind"},
		"empty membership":              {wire.CompletionCreated, func(c *wire.Completion) { c.Membership = &wire.Membership{} }, "membership.spotId"},
		"membership of generation 0":    {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotGeneration = 0 }), "membership.spotGeneration"},
		"membership above 63 bits":      {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotGeneration = 1 << 63 }), "membership.spotGeneration"},
		"membership of no kind":         {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotKind = "" }), "membership.spotKind"},
		"membership in instance spot":   {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotKind = "instance" }), "membership.spotKind"},
		"membership in too long an id":  {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotID = strings.Repeat("x", 256) }), "membership.spotId"},
		"membership in an entry spot":   {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotKind = "entry" }), ""},
		"membership with a NUL in it":   {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotID = "\x00" }), "membership.spotId"},
		"membership of greatest number": {wire.CompletionCreated, memberWith(func(m *wire.Membership) { m.SpotGeneration = 1<<63 - 1 }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := validCompletion(tt.kind)
			tt.edit(&req.Completion)
			field := tt.field
			if field != "" {
				field = "completion." + field
			}
			wantInvalid(t, domain.ValidateObjectCompleteCreation(req), field)
		})
	}
}

// memberWith makes a completion one with a changed membership.
func memberWith(edit func(*wire.Membership)) func(*wire.Completion) {
	return func(c *wire.Completion) {
		c.Membership = &wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipUser}
		edit(c.Membership)
	}
}

func TestPayloadsAreAtMostOneMiB(t *testing.T) { // 1.6
	t.Parallel()
	for n, check := range map[int]func(t *testing.T, err error, field string){
		oneMiB:     func(t *testing.T, err error, _ string) { wantInvalid(t, err, "") },
		oneMiB + 1: func(t *testing.T, err error, field string) { wantTooLarge(t, err, field, oneMiB, oneMiB+1) },
	} {
		large := make(wire.Bytes, n)
		reserve := validReserve()
		reserve.CreatingPayload = large
		check(t, domain.ValidateObjectReserve(reserve), "creatingPayload")
		check(t, domain.ValidateObjectPlace(placed(reserve)), "creatingPayload")
		commit := validCommit()
		commit.ReadyPayload = large
		check(t, domain.ValidateObjectCommit(commit), "readyPayload")
		created := validCompletion(wire.CompletionCreated)
		created.Completion.ReadyPayload = large
		check(t, domain.ValidateObjectCompleteCreation(created), "completion.readyPayload")
		failed := validCompletion(wire.CompletionFailed)
		failed.Completion.Terminal.TerminalEnvelope = large
		failed.Completion.Terminal.TerminalEnvelopeSHA256 = digestOf(string(large))
		check(t, domain.ValidateObjectCompleteCreation(failed), "completion.terminal.terminalEnvelope")
	}
}

func TestPartsOfOtherObjectRequests(t *testing.T) { // 1.6
	t.Parallel()
	parts(t, domain.ValidateObjectReadTerminal,
		func() *wire.ObjectReadTerminalRequest {
			return &wire.ObjectReadTerminalRequest{Operation: term(1).Operation}
		},
		"operation", func(r *wire.ObjectReadTerminalRequest) *wire.OperationKey { return &r.Operation }, operationParts)
	ended := func() *wire.ObjectReleaseEndedRequest {
		return &wire.ObjectReleaseEndedRequest{Key: keyOf("a1"), ExpectedStoreVersion: "5"}
	}
	parts(t, domain.ValidateObjectReleaseEnded, ended, "key",
		func(r *wire.ObjectReleaseEndedRequest) *wire.ObjectKey { return &r.Key }, keyParts)
	parts(t, domain.ValidateObjectReleaseEnded, ended, "expectedStoreVersion",
		func(r *wire.ObjectReleaseEndedRequest) *wire.Version { return &r.ExpectedStoreVersion }, versionParts)
	find := func() *wire.ObjectFindRequest { return &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r1"} }
	parts(t, domain.ValidateObjectFind, find, "globalId", func(r *wire.ObjectFindRequest) *string { return &r.GlobalID }, texts(255, ""))
	parts(t, domain.ValidateObjectFind, find, "kind", func(r *wire.ObjectFindRequest) *wire.LookupKind { return &r.Kind },
		map[string]part[wire.LookupKind]{
			"actor":    {func(k *wire.LookupKind) { *k = "actor" }, allowed},
			"userSpot": {func(k *wire.LookupKind) { *k = "userSpot" }, ""},
			"none":     {func(k *wire.LookupKind) { *k = "" }, ""},
		})
	await := func() *wire.ObjectAwaitRequest {
		return &wire.ObjectAwaitRequest{Key: keyOf("r1"), Until: wire.AwaitChanged}
	}
	parts(t, domain.ValidateObjectAwait, await, "key", func(r *wire.ObjectAwaitRequest) *wire.ObjectKey { return &r.Key }, keyParts)
	for name, tt := range map[string]struct {
		until wire.AwaitCondition
		since wire.Version
		field string
	}{
		"no condition":            {"", "", "until"},
		"unknown condition":       {"ready", "", "until"},
		"settled":                 {wire.AwaitSettled, "", ""},
		"settled with a version":  {wire.AwaitSettled, "5", "sinceVersion"},
		"changed since a version": {wire.AwaitChanged, wire.Version(strings.Repeat("5", 64)), ""},
		"version too long":        {wire.AwaitChanged, wire.Version(strings.Repeat("5", 65)), "sinceVersion"},
	} {
		t.Log(name)
		wantInvalid(t, domain.ValidateObjectAwait(&wire.ObjectAwaitRequest{Key: keyOf("r1"), Until: tt.until, SinceVersion: tt.since}), tt.field)
	}
}
