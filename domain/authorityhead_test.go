package domain_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// anyIdentifier draws identifiers of every length class.
func anyIdentifier() *rapid.Generator[string] {
	text := rapid.Custom(func(r *rapid.T) string {
		s := strings.ReplaceAll(rapid.StringN(1, 64, 255).Draw(r, "text"), "\x00", "0")
		if !utf8.ValidString(s) {
			r.Fatalf("identifier %q", s)
		}
		return s
	})
	// Heads of texts have one, two or three bytes.
	return rapid.OneOf(text, rapid.SampledFrom([]string{
		"a", strings.Repeat("a", 23), strings.Repeat("b", 24), strings.Repeat("é", 127), strings.Repeat("c", 255),
	}))
}

// anyRID draws routing ids that are stored as text and such that are stored as bytes.
func anyRID() *rapid.Generator[wire.RID] {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 255), func(b []byte) wire.RID { return wire.RID(b) }),
		rapid.Map(anyIdentifier(), func(s string) wire.RID { return wire.RID(s) }),
		rapid.SampledFrom([]wire.RID{"n1", "\x00", "\xff", "\u0080", "\x7f", wire.RID(strings.Repeat("\xf6", 255))}),
	)
}

func anyGeneration(most uint64) *rapid.Generator[wire.Generation] {
	return rapid.Map(rapid.Uint64Range(1, most), func(n uint64) wire.Generation { return wire.Generation(n) })
}

const anyRevision = 1 << 40

// anyCapacity draws what an object takes, something at least.
func anyCapacity() *rapid.Generator[wire.Capacity] {
	return rapid.Custom(func(r *rapid.T) wire.Capacity {
		count := rapid.SampledFrom([]uint32{0, 1, 23, 24, 1 << 8, 1 << 16, 1<<31 - 1})
		c := wire.Capacity{Actors: count.Draw(r, "actors"), Spots: count.Draw(r, "spots")}
		if rapid.Bool().Draw(r, "has a type") || c.Actors+c.Spots == 0 {
			c.SpotType = &wire.SpotCapacity{
				ObjectKind: rapid.SampledFrom([]wire.SpotObjectKind{wire.SpotUser, wire.SpotInstance}).Draw(r, "kind of spot"),
				StableType: anyIdentifier().Draw(r, "type of spot"), Count: rapid.Uint32Range(1, 1<<31-1).Draw(r, "count"),
			}
		}
		return c
	})
}

// anyAuthority draws records that rules could have stored at anyRevision.
func anyAuthority() *rapid.Generator[domain.AuthorityRecord] {
	return rapid.Custom(func(r *rapid.T) domain.AuthorityRecord {
		generation := anyGeneration(anyRevision)
		rec := domain.AuthorityRecord{
			GlobalID:         anyIdentifier().Draw(r, "id"),
			ObjectGeneration: generation.Draw(r, "object generation"), AuthorityOwnerGeneration: generation.Draw(r, "owner generation"),
			OwnerID: anyIdentifier().Draw(r, "owner"), OwnerLeaseGeneration: anyGeneration(1<<63-1).Draw(r, "lease generation"),
			Allocation: wire.Allocation{
				State:      wire.AllocationState(rapid.SampledFrom(wire.AllocationState("").Values()).Draw(r, "state")),
				ObjectKind: wire.ObjectKind(rapid.SampledFrom(wire.ObjectKind("").Values()).Draw(r, "kind")),
				StableType: anyIdentifier().Draw(r, "type"),
				Descriptor: wire.DescriptorKey{MeshName: anyIdentifier().Draw(r, "mesh"), RID: anyRID().Draw(r, "rid")},

				DescriptorLifecycleGeneration: anyGeneration(1<<63-1).Draw(r, "lifecycle"), Capacity: anyCapacity().Draw(r, "capacity"),
			},
			ReservationID: "0e1f5a6b-0000-4000-8000-000000000001",
			Phase:         wire.Phase(rapid.SampledFrom(wire.Phase("").Values()).Draw(r, "phase")),
			Payload:       wire.Bytes(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "payload")),
		}
		if rec.Allocation.State == wire.AllocationReserved {
			rec.Pending = &domain.PendingCreation{RequestContentReference: "x", RequestSHA256: make(wire.Bytes, 32)}
		} else if rec.Allocation.ObjectKind == wire.ObjectActor && rapid.Bool().Draw(r, "is a member") {
			rec.Membership = &wire.Membership{
				SpotID: anyIdentifier().Draw(r, "spot"), SpotGeneration: generation.Draw(r, "spot generation"),
				SpotKind: wire.MembershipKind(rapid.SampledFrom(wire.MembershipKind("").Values()).Draw(r, "kind of membership")),
			}
		}
		return rec
	})
}

// rowOf stores a record under its own key.
func rowOf(t tb, rec domain.AuthorityRecord) *kvstore.Row {
	t.Helper()
	value, err := domain.EncodeRecord(rec)
	if err != nil {
		t.Fatal(err)
	}
	k := wire.ObjectKey{Kind: rec.Allocation.ObjectKind, GlobalID: rec.GlobalID}
	return &kvstore.Row{Key: domain.AuthorityKey(k), Value: value, Revision: anyRevision}
}

// wantAuthorityHead requires that indexes and sums see what the rules see in a record
// that they can read.
func wantAuthorityHead(t tb, r *kvstore.Row, rec domain.AuthorityRecord) {
	t.Helper()
	token, allocation, membership, err := domain.AuthorityHeadOf(r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, token, wire.OwnerToken{OwnerID: rec.OwnerID, LeaseGeneration: rec.OwnerLeaseGeneration})
	allocation.DescriptorLifecycleGeneration = rec.Allocation.DescriptorLifecycleGeneration // not part of the head
	want(t, allocation, rec.Allocation)
	if rec.Membership == nil {
		rec.Membership = &wire.Membership{}
	}
	want(t, membership, *rec.Membership)
}

func TestHeadOfAuthorityIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rec := anyAuthority().Draw(r, "record")
		row := rowOf(r, rec)
		wantAuthorityHead(r, row, rec)
		body, err := domain.DecodeAuthority(row)
		if err != nil {
			r.Fatal(err)
		}
		want(r, body, any(rec))
	})
}

// TestHeadOfDamagedAuthority changes bytes: what the rules can still read has its
// place in the indexes.
func TestHeadOfDamagedAuthority(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		row := rowOf(r, anyAuthority().Draw(r, "record"))
		for range rapid.IntRange(1, 3).Draw(r, "changes") {
			row.Value[rapid.IntRange(0, len(row.Value)-1).Draw(r, "at")] = rapid.Byte().Draw(r, "byte")
		}
		row.Value = row.Value[:rapid.IntRange(0, len(row.Value)).Draw(r, "length")]
		if body, err := domain.DecodeAuthority(row); err == nil {
			wantAuthorityHead(r, row, body.(domain.AuthorityRecord))
		}
	})
}

func TestHeadOfAuthorityThatCannotBePlaced(t *testing.T) {
	t.Parallel()
	set := func(part, name string, value any) func(map[string]any) {
		return func(b map[string]any) { b[part].(map[any]any)[name] = value }
	}
	for name, edit := range map[string]func(map[string]any){
		"no owner":                    func(b map[string]any) { delete(b, "ownerId") },
		"owner that is no text":       func(b map[string]any) { b["ownerId"] = 1 },
		"lease generation 0":          func(b map[string]any) { b["ownerLeaseGeneration"] = 0 },
		"no allocation":               func(b map[string]any) { delete(b, "allocation") },
		"null for the allocation":     func(b map[string]any) { b["allocation"] = nil },
		"unknown state":               set("allocation", "state", "moving"),
		"unknown kind":                set("allocation", "objectKind", "entrySpot"),
		"kind of another key":         set("allocation", "objectKind", "userSpot"),
		"no type":                     set("allocation", "stableType", ""),
		"no node":                     set("allocation", "descriptor", nil),
		"node without a mesh":         set("allocation", "descriptor", map[string]any{"rid": "n1"}),
		"node without a RID":          set("allocation", "descriptor", map[string]any{"meshName": "play"}),
		"RID that is a number":        set("allocation", "descriptor", map[string]any{"meshName": "play", "rid": 1}),
		"no capacity":                 set("allocation", "capacity", nil),
		"capacity of nothing":         set("allocation", "capacity", map[string]any{"actors": 0, "spots": 0}),
		"capacity of too many actors": set("allocation", "capacity", map[string]any{"actors": 1<<32 + 1, "spots": 0}),
		"capacity of no type": set("allocation", "capacity", map[string]any{
			"actors": 1, "spots": 0, "spotType": map[string]any{"objectKind": "userSpot", "count": 1},
		}),
		"capacity of an unknown kind": set("allocation", "capacity", map[string]any{
			"actors": 1, "spots": 0, "spotType": map[string]any{"objectKind": "actor", "stableType": "room", "count": 1},
		}),
		"capacity of no spot": set("allocation", "capacity", map[string]any{
			"actors": 1, "spots": 0, "spotType": map[string]any{"objectKind": "userSpot", "stableType": "room", "count": 0},
		}),
		"membership of an unknown kind": set("membership", "spotKind", "guest"),
		"membership without a spot":     set("membership", "spotId", ""),
		"membership of generation 0":    set("membership", "spotGeneration", 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := rowOf(t, memberRecord())
			body := bodyOf(t, row.Value)
			edit(body)
			row.Value = recordOf(t, body)
			_, _, _, err := domain.AuthorityHeadOf(row)
			wantLost(t, err, row.Key)
			_, err = domain.DecodeAuthority(row)
			wantLost(t, err, row.Key)
			want(t, domain.Schema().Derive(row).Index, []kvstore.IndexEntry{{Index: "holder", Value: ""}})
			want(t, domain.Schema().Derive(row).Amounts, nil)
		})
	}
}

// memberRecord is that of an actor in a user spot.
func memberRecord() domain.AuthorityRecord {
	return domain.AuthorityRecord{
		GlobalID: "a1", ObjectGeneration: 5, AuthorityOwnerGeneration: 6, OwnerID: "owner-a", OwnerLeaseGeneration: 1,
		Allocation: wire.Allocation{
			State: wire.AllocationActive, ObjectKind: wire.ObjectActor, StableType: "hero",
			Descriptor:                    wire.DescriptorKey{MeshName: "play", RID: "\x00\xff"},
			DescriptorLifecycleGeneration: 7, Capacity: actorCapacity,
		},
		Phase: wire.PhaseSteady, Payload: wire.Bytes("put"),
		Membership: &wire.Membership{SpotID: "r1", SpotGeneration: 3, SpotKind: wire.MembershipUser},
	}
}

// TestHeadOfAuthorityPassesOverTheRest puts the members in another order among others.
func TestHeadOfAuthorityPassesOverTheRest(t *testing.T) {
	t.Parallel()
	rec := memberRecord()
	row := rowOf(t, rec)
	body := bodyOf(t, row.Value)
	body["later"] = map[string]any{"ownerId": "x", "allocation": []any{1, "a", nil, true}}
	body["allocation"].(map[any]any)["a"] = []any{map[string]any{"state": "x"}}
	body["membership"].(map[any]any)["zone"] = -1
	row.Value = recordOf(t, body)
	wantAuthorityHead(t, row, rec)
	if i := bytes.Index(row.Value, []byte("later")); i < 0 {
		t.Fatal("the record has no other member")
	}
}

func TestIndexesAndSumsOfAnAuthority(t *testing.T) { // 1.10, 5.4, 6.8, 10
	t.Parallel()
	schema := domain.Schema()
	rec := memberRecord()
	rec.Allocation.Capacity = wire.Capacity{Actors: 1, Spots: 2, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 3}}
	const generation1, generation3 = "\x00\x00\x00\x00\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00\x03"
	want(t, schema.Derive(rowOf(t, rec)).Index, []kvstore.IndexEntry{
		{Index: "holder", Value: "owner-a\x00" + generation1},
		{Index: "object", Value: "actor\x00hero\x00play"},
		{Index: "member", Value: "r1\x00" + generation3},
	})
	want(t, schema.Derive(rowOf(t, rec)).Amounts, []kvstore.Amount{
		{Sum: "actors\x00\x00active\x00play\x00\x00\xff", N: 1},
		{Sum: "spots\x00\x00active\x00play\x00\x00\xff", N: 2},
		{Sum: "userSpot\x00room\x00active\x00play\x00\x00\xff", N: 3},
	})
	rec.Membership.SpotKind = wire.MembershipEntry
	want(t, len(schema.Derive(rowOf(t, rec)).Index), 2) // an entry spot has no members
}

func FuzzDecodeAuthority(f *testing.F) {
	fuzzDecode(f, "authority", kvstore.Prefix(domain.FamilyAuthority))
}
