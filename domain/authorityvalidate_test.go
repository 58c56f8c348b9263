package domain_test

import (
	"math"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func TestAuthorityReadRequests(t *testing.T) { // 1.6, 1.7
	t.Parallel()
	for id, ok := range identifiers {
		field := "key.globalId"
		if ok {
			field = ""
		}
		for _, kind := range []wire.ObjectKind{wire.ObjectActor, wire.ObjectUserSpot, wire.ObjectInstanceSpot} {
			k := wire.ObjectKey{Kind: kind, GlobalID: id}
			wantInvalid(t, domain.ValidateAuthorityRead(&wire.AuthorityReadRequest{Key: k}), field)
			wantInvalid(t, domain.ValidateAuthorityCompareExchange(&wire.AuthorityCompareExchangeRequest{
				Key: k, ExpectedStoreVersion: "1", Mutation: removal(),
			}), field)
		}
	}
	for _, kind := range []wire.ObjectKind{"", "spot", "Actor", "entrySpot"} {
		k := wire.ObjectKey{Kind: kind, GlobalID: "x"}
		wantInvalid(t, domain.ValidateAuthorityRead(&wire.AuthorityReadRequest{Key: k}), "key.kind")
	}
}

func TestAuthorityListRequests(t *testing.T) { // 1.6, 5.1
	t.Parallel()
	for name, tt := range map[string]struct {
		req   wire.AuthorityListRequest
		field string
	}{
		"everything":         {wire.AuthorityListRequest{Limit: 1}, ""},
		"longest prefix":     {wire.AuthorityListRequest{Prefix: strings.Repeat("z", 776), Limit: 1000}, ""},
		"no text form":       {wire.AuthorityListRequest{Prefix: "zla2:", Limit: 1}, ""},
		"prefix too long":    {wire.AuthorityListRequest{Prefix: strings.Repeat("z", 777), Limit: 1}, "prefix"},
		"limit 0 is not all": {wire.AuthorityListRequest{}, "limit"},
		"limit too great":    {wire.AuthorityListRequest{Limit: 1001}, "limit"},
		"longest cursor":     {wire.AuthorityListRequest{Limit: 1, Cursor: strings.Repeat("x", 4096)}, ""},
		"cursor too long":    {wire.AuthorityListRequest{Limit: 1, Cursor: strings.Repeat("x", 4097)}, "cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, domain.ValidateAuthorityList(&tt.req), tt.field)
		})
	}
}

func TestExpectedVersions(t *testing.T) { // 1.6
	t.Parallel()
	for v, field := range map[wire.Version]string{
		"": "expectedStoreVersion", "no version": "", wire.Version(strings.Repeat("1", 64)): "",
		wire.Version(strings.Repeat("1", 65)): "expectedStoreVersion",
	} {
		wantInvalid(t, domain.ValidateAuthorityCompareExchange(&wire.AuthorityCompareExchangeRequest{
			Key: keyOf("a1"), ExpectedStoreVersion: v, Mutation: removal(),
		}), field)
	}
}

// with is a mutation that has a field other than its form has it.
func with(m wire.AuthorityMutation, edit func(*wire.AuthorityMutation)) wire.AuthorityMutation {
	edit(&m)
	return m
}

func TestMutationForms(t *testing.T) { // 1.6, 5.3, A-04, A-09
	t.Parallel()
	now, next := wire.OwnerToken{OwnerID: "a", LeaseGeneration: 1}, wire.OwnerToken{OwnerID: "a", LeaseGeneration: 2}
	forms := map[wire.AuthorityMutationKind]wire.AuthorityMutation{}
	for kind, m := range mutations(now, next) {
		forms[wire.AuthorityMutationKind(kind)] = m
	}
	for name, field := range map[string]struct {
		// give and take set and clear the field.
		give, take func(*wire.AuthorityMutation)
		needed     []wire.AuthorityMutationKind
		allowed    []wire.AuthorityMutationKind
	}{
		"payload": {
			give:   func(m *wire.AuthorityMutation) { m.Payload = wire.Bytes{} },
			take:   func(m *wire.AuthorityMutation) { m.Payload = nil },
			needed: []wire.AuthorityMutationKind{wire.AuthorityPut, wire.AuthorityRebind, wire.AuthorityRestore, wire.AuthorityReincarnate},
		},
		"generationTransition": {
			give:   func(m *wire.AuthorityMutation) { m.GenerationTransition = wire.GenerationPreserve },
			take:   func(m *wire.AuthorityMutation) { m.GenerationTransition = "" },
			needed: []wire.AuthorityMutationKind{wire.AuthorityPut},
		},
		"phase": {
			give:    toPhase(wire.PhaseClosing),
			take:    toPhase(""),
			allowed: []wire.AuthorityMutationKind{wire.AuthorityPut, wire.AuthorityRestore},
		},
		"membership": {
			give:    joining(wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipUser}),
			take:    func(m *wire.AuthorityMutation) { m.Membership = nil },
			allowed: []wire.AuthorityMutationKind{wire.AuthorityPut},
		},
		"expectedOwner": {
			give:   func(m *wire.AuthorityMutation) { m.ExpectedOwner = &now },
			take:   func(m *wire.AuthorityMutation) { m.ExpectedOwner = nil },
			needed: []wire.AuthorityMutationKind{wire.AuthorityRebind, wire.AuthorityRestore},
		},
		"targetOwner": {
			give:   func(m *wire.AuthorityMutation) { m.TargetOwner = &next },
			take:   func(m *wire.AuthorityMutation) { m.TargetOwner = nil },
			needed: []wire.AuthorityMutationKind{wire.AuthorityRebind},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needed, allowed := kinds(field.needed), kinds(field.needed, field.allowed)
			for kind, m := range forms {
				path := map[bool]string{true: "mutation." + name}
				wantInvalid(t, checked("a1", with(m, field.give)), path[!allowed[kind]])
				wantInvalid(t, checked("a1", with(m, field.take)), path[needed[kind]])
			}
		})
	}
}

func kinds(lists ...[]wire.AuthorityMutationKind) map[wire.AuthorityMutationKind]bool {
	set := map[wire.AuthorityMutationKind]bool{}
	for _, list := range lists {
		for _, kind := range list {
			set[kind] = true
		}
	}
	return set
}

// checked validates a mutation of an object.
func checked(id string, m wire.AuthorityMutation) error {
	return domain.ValidateAuthorityCompareExchange(&wire.AuthorityCompareExchangeRequest{
		Key: keyOf(id), ExpectedStoreVersion: "1", Mutation: m,
	})
}

func TestMutationValues(t *testing.T) { // 1.6, 5.3, A-04, A-09
	t.Parallel()
	token := func(owner string, g wire.Generation) wire.OwnerToken {
		return wire.OwnerToken{OwnerID: owner, LeaseGeneration: g}
	}
	in := func(spot string, g wire.Generation, kind wire.MembershipKind) wire.AuthorityMutation {
		return putOf(joining(wire.Membership{SpotID: spot, SpotGeneration: g, SpotKind: kind}))
	}
	for name, tt := range map[string]struct {
		id       string
		mutation wire.AuthorityMutation
		field    string
	}{
		"no kind":              {"a1", with(putOf(), func(m *wire.AuthorityMutation) { m.Kind = "" }), "kind"},
		"unknown kind":         {"a1", with(putOf(), func(m *wire.AuthorityMutation) { m.Kind = "patch" }), "kind"},
		"unknown transition":   {"a1", with(putOf(), func(m *wire.AuthorityMutation) { m.GenerationTransition = "advance" }), "generationTransition"},
		"unknown phase":        {"a1", putOf(toPhase("gone")), "phase"},
		"membership of a room": {"r1", in("r2", 1, wire.MembershipUser), "membership"},
		"membership of a chat": {"i1", in("r2", 1, wire.MembershipEntry), "membership"},
		"actor in a room":      {"a1", in("r1", math.MaxInt64, wire.MembershipUser), ""},
		"actor at an entry":    {"a1", in("e1", 1, wire.MembershipEntry), ""},
		"empty membership":     {"a1", in("", 0, ""), "membership.spotId"},
		"spot id with NUL":     {"a1", in("a\x00", 1, wire.MembershipUser), "membership.spotId"},
		"spot generation 0":    {"a1", in("r1", 0, wire.MembershipUser), "membership.spotGeneration"},
		"greatest generation":  {"a1", in("r1", math.MaxInt64+1, wire.MembershipUser), "membership.spotGeneration"},
		"no kind of spot":      {"a1", in("r1", 1, ""), "membership.spotKind"},
		"instance spot":        {"a1", in("r1", 1, "instance"), "membership.spotKind"},

		"rebind to the next":        {"r1", rebindTo(token("a", 1), token("a", 2)), ""},
		"rebind to an older":        {"r1", rebindTo(token("a", 2), token("a", 1)), ""},
		"rebind to another owner":   {"r1", rebindTo(token("a", 1), token("b", 2)), "targetOwner.ownerId"},
		"rebind to the same":        {"r1", rebindTo(token("a", 1), token("a", 1)), "targetOwner.leaseGeneration"},
		"rebind to generation 0":    {"r1", rebindTo(token("a", 1), token("a", 0)), "targetOwner.leaseGeneration"},
		"rebind to nobody":          {"r1", rebindTo(token("a", 1), token("", 2)), "targetOwner.ownerId"},
		"rebind from nobody":        {"r1", rebindTo(token("", 1), token("", 2)), "expectedOwner.ownerId"},
		"restore from nobody":       {"r1", restoreOf(token("", 1)), "expectedOwner.ownerId"},
		"restore from generation 0": {"r1", restoreOf(token("a", 0)), "expectedOwner.leaseGeneration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			field := tt.field
			if field != "" {
				field = "mutation." + field
			}
			wantInvalid(t, checked(tt.id, tt.mutation), field)
		})
	}
}

func TestMembershipIsGivenWhole(t *testing.T) { // 1.6: all three present; A-09
	t.Parallel()
	whole := map[string]any{"spotId": "r1", "spotGeneration": 1, "spotKind": "user"}
	for name := range whole {
		part := map[string]any{}
		for other, v := range whole {
			if other != name {
				part[other] = v
			}
		}
		wantUnreadable(t, part, "mutation.membership."+name)
	}
	wantUnreadable(t, whole, "")
}

// wantUnreadable decodes a put with a membership and requires that a field is refused.
func wantUnreadable(t *testing.T, membership map[string]any, field string) {
	t.Helper()
	req := map[string]any{
		"key": "zla1:a:2:a1", "expectedStoreVersion": "1",
		"mutation": map[string]any{"kind": "put", "payload": []byte{}, "generationTransition": "preserve", "membership": membership},
	}
	wantInvalid(t, wire.Unmarshal(wire.CBOR, recordOf(t, req)[2:], new(wire.AuthorityCompareExchangeRequest)), field)
}
