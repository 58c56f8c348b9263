package domain_test

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func validParticipant(id string) wire.AggregateParticipant {
	return wire.AggregateParticipant{
		AuthorityKey: keyOf(id), ExpectedStoreVersion: "5", OwnerTransition: wire.OwnerNew,
		AuthorityPayload: wire.Bytes{}, MembershipMutation: wire.Bytes{},
	}
}

// validParticipants are two, in key order.
func validParticipants() []wire.AggregateParticipant {
	return []wire.AggregateParticipant{validParticipant("a1"), validParticipant("r1")}
}

func validStage() *wire.AggregateStageRequest {
	return &wire.AggregateStageRequest{Fence: fence("f"), Participants: validParticipants()}
}

func validPrepare() *wire.AggregatePrepareRequest {
	takes := *roomCapacity.SpotType
	return prepareRequest(fence("f"), validReservation("r1").target, wire.Capacity{Actors: 1, Spots: 1, SpotType: &takes}, validParticipants())
}

func validCounted() *wire.AggregatePrepareRequest {
	req := validPrepare()
	counted(2)(req)
	return req
}

var fenceParts = map[string]part[wire.Fence]{
	"greatest":             {func(f *wire.Fence) { f.AggregateGeneration = math.MaxInt64 }, allowed},
	"generation 0":         {func(f *wire.Fence) { f.AggregateGeneration = 0 }, "aggregateGeneration"}, // G-04
	"generation too great": {func(f *wire.Fence) { f.AggregateGeneration = math.MaxInt64 + 1 }, "aggregateGeneration"},
}

func TestFencesOfAggregates(t *testing.T) { // 1.6, G-04
	t.Parallel()
	for name, tt := range fenceParts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			field := map[bool]string{false: tt.field}[tt.field == allowed]
			stage, inline, staged := validStage(), validPrepare(), validCounted()
			for _, f := range []*wire.Fence{&stage.Fence, &inline.Fence, &staged.Fence} {
				tt.edit(f)
			}
			wantInvalid(t, domain.ValidateAggregateStage(stage), field)
			wantInvalid(t, domain.ValidateAggregatePrepare(inline), field)
			wantInvalid(t, domain.ValidateAggregatePrepare(staged), field)
		})
	}
	id := func(f *wire.Fence) *string { return &f.AggregateID }
	ids := texts(255, "")
	parts(t, domain.ValidateAggregateStage, validStage, "aggregateId", func(r *wire.AggregateStageRequest) *string { return id(&r.Fence) }, ids)
	parts(t, domain.ValidateAggregatePrepare, validPrepare, "aggregateId", func(r *wire.AggregatePrepareRequest) *string { return id(&r.Fence) }, ids)
	valid := func() *wire.AggregateCommitRequest { return &wire.AggregateCommitRequest{Fence: fence("f")} }
	parts(t, domain.ValidateAggregateCommit, valid, "fence", func(r *wire.AggregateCommitRequest) *wire.Fence { return &r.Fence }, fenceParts)
	parts(t, domain.ValidateAggregateCommit, valid, "fence.aggregateId", func(r *wire.AggregateCommitRequest) *string { return id(&r.Fence) }, ids)
	toAbort := func() *wire.AggregateAbortRequest { return &wire.AggregateAbortRequest{Fence: fence("f")} }
	parts(t, domain.ValidateAggregateAbort, toAbort, "fence", func(r *wire.AggregateAbortRequest) *wire.Fence { return &r.Fence }, fenceParts)
	parts(t, domain.ValidateAggregateAbort, toAbort, "fence.aggregateId", func(r *wire.AggregateAbortRequest) *string { return id(&r.Fence) }, ids)
	find := func() *wire.AggregateFindRequest { return &wire.AggregateFindRequest{Key: keyOf("a1")} }
	parts(t, domain.ValidateAggregateFind, find, "key", func(r *wire.AggregateFindRequest) *wire.ObjectKey { return &r.Key }, keyParts)
}

// firstOf and lastOf are the participants of a request.
func firstOf[Q any](list func(*Q) []wire.AggregateParticipant) func(*Q) *wire.AggregateParticipant {
	return func(r *Q) *wire.AggregateParticipant { return &list(r)[0] }
}

func lastOf[Q any](list func(*Q) []wire.AggregateParticipant) func(*Q) *wire.AggregateParticipant {
	return func(r *Q) *wire.AggregateParticipant { return &list(r)[1] }
}

func stagedIn(r *wire.AggregateStageRequest) []wire.AggregateParticipant { return r.Participants }

func inlineIn(r *wire.AggregatePrepareRequest) []wire.AggregateParticipant { return r.Participants }

func into(m wire.Membership) func(*wire.AggregateParticipant) {
	return func(p *wire.AggregateParticipant) { p.Membership = &m }
}

var aggregateParts = map[string]part[wire.AggregateParticipant]{
	"preserve":           {preserved, allowed},
	"no transition":      {func(p *wire.AggregateParticipant) { p.OwnerTransition = "" }, "ownerTransition"},
	"another transition": {func(p *wire.AggregateParticipant) { p.OwnerTransition = "NewOwner" }, "ownerTransition"},
	"no version":         {func(p *wire.AggregateParticipant) { p.ExpectedStoreVersion = "" }, "expectedStoreVersion"},
}

// memberParts are about the membership of an actor.
var memberParts = map[string]part[wire.AggregateParticipant]{
	"user spot":             {into(wire.Membership{SpotID: "r1", SpotGeneration: math.MaxInt64, SpotKind: wire.MembershipUser}), allowed},
	"entry spot":            {into(wire.Membership{SpotID: "e1", SpotGeneration: 1, SpotKind: wire.MembershipEntry}), allowed},
	"membership of nothing": {into(wire.Membership{}), "membership.spotId"},
	"spot id with NUL":      {into(wire.Membership{SpotID: "\x00", SpotGeneration: 1, SpotKind: wire.MembershipUser}), "membership.spotId"},
	"spot of generation 0":  {into(wire.Membership{SpotID: "r1", SpotKind: wire.MembershipUser}), "membership.spotGeneration"},
	"spot beyond 63 bits":   {into(wire.Membership{SpotID: "r1", SpotGeneration: math.MaxInt64 + 1, SpotKind: wire.MembershipUser}), "membership.spotGeneration"},
	"spot of no kind":       {into(wire.Membership{SpotID: "r1", SpotGeneration: 1}), "membership.spotKind"},
	"instance spot":         {into(wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: "instance"}), "membership.spotKind"},
}

func TestParticipantsAreNamedByTheirIndex(t *testing.T) { // 1.6, 8.2, 8.3
	t.Parallel()
	participantsOf(t, domain.ValidateAggregateStage, validStage, stagedIn)
	participantsOf(t, domain.ValidateAggregatePrepare, validPrepare, inlineIn)
}

func participantsOf[Q any](t *testing.T, fn func(*Q) error, valid func() *Q, list func(*Q) []wire.AggregateParticipant) {
	t.Helper()
	first, last := firstOf(list), lastOf(list)
	parts(t, fn, valid, "participants[0]", first, aggregateParts)
	parts(t, fn, valid, "participants[1]", last, aggregateParts)
	parts(t, fn, valid, "participants[0]", first, memberParts)
	parts(t, fn, valid, "participants[1]", last, map[string]part[wire.AggregateParticipant]{ // 8.2, G-04
		"membership of a spot": {into(wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipUser}), "membership"},
	})
	parts(t, fn, valid, "participants[1].expectedStoreVersion", func(r *Q) *wire.Version { return &last(r).ExpectedStoreVersion }, versionParts)
	parts(t, fn, valid, "participants[1].authorityKey", func(r *Q) *wire.ObjectKey { return &last(r).AuthorityKey }, map[string]part[wire.ObjectKey]{
		"no kind":       {func(k *wire.ObjectKey) { k.Kind = "" }, "kind"},
		"entry spot":    {func(k *wire.ObjectKey) { k.Kind = "entrySpot" }, "kind"},
		"no id":         {func(k *wire.ObjectKey) { k.GlobalID = "" }, "globalId"},
		"instance spot": {func(k *wire.ObjectKey) { k.Kind = wire.ObjectInstanceSpot }, allowed},
		"the same key":  {func(k *wire.ObjectKey) { *k = keyOf("a1") }, ""}, // G-04
		"a lesser key":  {func(k *wire.ObjectKey) { *k = keyOf("a0") }, ""}, // G-04
	})
	for name, bytes := range map[string]func(*wire.AggregateParticipant) *wire.Bytes{
		"authorityPayload":   func(p *wire.AggregateParticipant) *wire.Bytes { return &p.AuthorityPayload },
		"membershipMutation": func(p *wire.AggregateParticipant) *wire.Bytes { return &p.MembershipMutation },
	} {
		req := valid()
		*bytes(last(req)) = make(wire.Bytes, oneMiB)
		wantInvalid(t, fn(req), "")
		*bytes(last(req)) = make(wire.Bytes, oneMiB+1)
		wantTooLarge(t, fn(req), "participants[1]."+name, oneMiB, oneMiB+1)
	}
}

func TestParticipantsAreInOrderOfTheirTexts(t *testing.T) { // 1.7, 8.2: "zla1:a:2:b" before "zla1:a:2:c" and "zla1:a:3:aaa"
	t.Parallel()
	for name, tt := range map[string]struct {
		ids   []string
		field string
	}{
		"ascending":                       {[]string{"ab", "ac", "aaa"}, ""},
		"ids alone would be descending":   {[]string{"ab", "aaa"}, ""},
		"ids alone would be ascending":    {[]string{"aaa", "ab"}, "participants[1].authorityKey"},
		"actors are before spots":         {[]string{"a1", "r1", "a2"}, "participants[2].authorityKey"},
		"a spot of either kind is one":    {[]string{"i1", "i1"}, "participants[1].authorityKey"},
		"one twice, with another between": {[]string{"a1", "a2", "a1"}, "participants[2].authorityKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := validStage()
			req.Participants = nil
			for _, id := range tt.ids {
				req.Participants = append(req.Participants, validParticipant(id))
			}
			wantInvalid(t, domain.ValidateAggregateStage(req), tt.field)
		})
	}
}

func TestSpotsOfEitherKindAreOneParticipant(t *testing.T) { // 1.7, 8.2
	t.Parallel()
	req := validStage()
	req.Participants = []wire.AggregateParticipant{validParticipant("r1"), validParticipant("r1")}
	req.Participants[1].AuthorityKey.Kind = wire.ObjectInstanceSpot
	wantInvalid(t, domain.ValidateAggregateStage(req), "participants[1].authorityKey")
}

// manyParticipants are n, in key order.
func manyParticipants(n int) []wire.AggregateParticipant {
	all := make([]wire.AggregateParticipant, n)
	for i := range all {
		all[i] = validParticipant(fmt.Sprintf("a%06d", i))
	}
	return all
}

func TestNumbersOfParticipants(t *testing.T) { // 1.6, 8.2, 8.3
	t.Parallel()
	for n, ok := range map[int]bool{0: false, 1: true, 1024: true, 1025: false} {
		field := map[bool]string{false: "participants"}[ok]
		stage, prepare := validStage(), validPrepare()
		stage.Participants, prepare.Participants = manyParticipants(n), manyParticipants(n)
		wantInvalid(t, domain.ValidateAggregateStage(stage), field)
		wantInvalid(t, domain.ValidateAggregatePrepare(prepare), field)
	}
	for start, ok := range map[uint32]bool{0: true, 999_998: true, 999_999: false, 1_000_000: false, math.MaxUint32: false} {
		req := validStage()
		req.StartIndex = start
		wantInvalid(t, domain.ValidateAggregateStage(req), map[bool]string{false: "startIndex"}[ok])
	}
}

func TestPartsOfAggregatePrepare(t *testing.T) { // 1.6, 8.3, G-04
	t.Parallel()
	type request = wire.AggregatePrepareRequest
	fn := domain.ValidateAggregatePrepare
	for _, valid := range []func() *request{validPrepare, validCounted} {
		parts(t, fn, valid, "inventoryDigest", func(r *request) *wire.Bytes { return &r.InventoryDigest }, map[string]part[wire.Bytes]{
			"none": {func(b *wire.Bytes) { *b = nil }, ""}, "31 bytes": {func(b *wire.Bytes) { *b = make(wire.Bytes, 31) }, ""},
			"33 bytes": {func(b *wire.Bytes) { *b = make(wire.Bytes, 33) }, ""}, "any": {func(b *wire.Bytes) { *b = make(wire.Bytes, 32) }, allowed},
		})
		parts(t, fn, valid, "targetDescriptor.meshName", func(r *request) *string { return &r.TargetDescriptor.MeshName }, texts(255, ""))
		parts(t, fn, valid, "targetDescriptor", func(r *request) *wire.DescriptorKey { return &r.TargetDescriptor }, map[string]part[wire.DescriptorKey]{
			"no RID":           {func(d *wire.DescriptorKey) { d.RID = "" }, "rid"},
			"RID of any bytes": {func(d *wire.DescriptorKey) { d.RID = "\x00\xff" }, allowed},
			"RID too long":     {func(d *wire.DescriptorKey) { d.RID = wire.RID(make([]byte, 256)) }, "rid"},
		})
		generation := func(r *request) *wire.Generation { return &r.TargetDescriptorLifecycleGeneration }
		parts(t, fn, valid, "targetDescriptorLifecycleGeneration", generation, map[string]part[wire.Generation]{
			"0": {func(g *wire.Generation) { *g = 0 }, ""}, "greatest": {func(g *wire.Generation) { *g = math.MaxInt64 }, allowed},
			"too great": {func(g *wire.Generation) { *g = math.MaxInt64 + 1 }, ""},
		})
		parts(t, fn, valid, "targetOwner", func(r *request) *wire.OwnerToken { return &r.TargetOwner }, map[string]part[wire.OwnerToken]{
			"no owner":     {func(o *wire.OwnerToken) { o.OwnerID = "" }, "ownerId"},
			"generation 0": {func(o *wire.OwnerToken) { o.LeaseGeneration = 0 }, "leaseGeneration"},
		})
		sums := map[string]part[wire.Capacity]{}
		maps.Copy(sums, capacityParts)
		sums["nothing"] = part[wire.Capacity]{func(c *wire.Capacity) { *c = wire.Capacity{} }, allowed} // 1.6: all counts may be zero
		parts(t, fn, valid, "capacity", func(r *request) *wire.Capacity { return &r.Capacity }, sums)
		parts(t, fn, valid, "prepareTtlMs", func(r *request) *wire.Millis { return &r.PrepareTTL }, map[string]part[wire.Millis]{
			"absent": {func(d *wire.Millis) { *d = 0 }, allowed}, "least": {func(d *wire.Millis) { *d = 1 }, allowed},
			"negative": {func(d *wire.Millis) { *d = -1 }, ""}, "greatest": {func(d *wire.Millis) { *d = 3_600_000 }, allowed},
			"too great": {func(d *wire.Millis) { *d = 3_600_001 }, ""},
		})
	}
	count := func(r *request) *uint32 { return &r.ParticipantCount }
	parts(t, fn, validCounted, "participantCount", count, map[string]part[uint32]{
		"least": {func(n *uint32) { *n = 1 }, allowed}, "greatest": {func(n *uint32) { *n = 1_000_000 }, allowed},
		"too great": {func(n *uint32) { *n = 1_000_001 }, ""},
	})
	parts(t, fn, validPrepare, "participantCount", count, map[string]part[uint32]{"both": {func(n *uint32) { *n = 2 }, ""}})
	parts(t, fn, validCounted, "participants", count, map[string]part[uint32]{"neither": {func(n *uint32) { *n = 0 }, ""}})
}
