package domain_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// wantInvalid requires that a field is refused; "" requires that none is.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	var invalid *wire.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("error %v, want %s to be invalid", err, field)
		return
	}
	if invalid.Field != field || invalid.Want == "" {
		t.Errorf("refused %q, want %q: %v", invalid.Field, field, err)
	}
}

func wantTooLarge(t *testing.T, err error, field string, limit, got int) {
	t.Helper()
	var large *wire.TooLargeError
	if !errors.As(err, &large) || *large != (wire.TooLargeError{Field: field, Limit: limit, Got: got}) {
		t.Errorf("error %v, want %s of %d to be above %d", err, field, got, limit)
	}
}

// identifiers are values of an identifier, with whether they are allowed.
var identifiers = map[string]bool{
	"":                        false, // empty
	"a\x00b":                  false, // NUL
	"\xff":                    false, // not UTF-8
	strings.Repeat("a", 256):  false, // too long
	strings.Repeat("é", 128):  false, // bytes count, not characters
	strings.Repeat("a", 255):  true,
	" ":                       true, // no trimming
	"e\u0301\x01\n\U0010ffff": true,
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	token := func(owner string) wire.OwnerToken { return wire.OwnerToken{OwnerID: owner, LeaseGeneration: 1} }
	for id, ok := range identifiers {
		field := func(name string) string {
			if ok {
				return ""
			}
			return name
		}
		wantInvalid(t, domain.ValidateLeaseClaim(&wire.LeaseClaimRequest{OwnerID: id, TTL: 1}), field("ownerId"))
		wantInvalid(t, domain.ValidateLeaseRead(&wire.LeaseReadRequest{OwnerID: id}), field("ownerId"))
		wantInvalid(t, domain.ValidateLeaseRenew(&wire.LeaseRenewRequest{Token: token(id), TTL: 1}), field("token.ownerId"))
		wantInvalid(t, domain.ValidateLeaseRelease(&wire.LeaseReleaseRequest{Token: token(id)}), field("token.ownerId"))
		wantInvalid(t, domain.ValidateOwnerRemoveAll(&wire.OwnerRemoveAllRequest{Owner: token(id)}), field("owner.ownerId"))
		wantInvalid(t, domain.ValidateMeshNodeList(&wire.MeshNodeListRequest{MeshName: id}), field("meshName"))
		wantInvalid(t, domain.ValidateMeshNodeRemove(&wire.MeshNodeRemoveRequest{MeshName: id, RID: "r", Owner: token("a")}), field("meshName"))
		if id == "" {
			continue // absent where it is optional
		}
		wantInvalid(t, domain.ValidateTopologyList(&wire.TopologyListRequest{MeshName: id}), field("meshName"))
		wantInvalid(t, domain.ValidateTopologySummary(&wire.TopologySummaryRequest{MeshName: id}), field("meshName"))
		wantInvalid(t, domain.ValidateChangeStampGet(&wire.ChangeStampGetRequest{Kind: wire.StampPeer, MeshName: id}), field("meshName"))
		wantInvalid(t, domain.ValidateChangeStampGet(&wire.ChangeStampGetRequest{Kind: wire.StampClientServer, ChannelName: id}), field("channelName"))
	}
}

func TestLeaseRequests(t *testing.T) { // L-08
	t.Parallel()
	for ttl, field := range map[wire.Millis]string{
		0: "leaseTtlMs", -1: "leaseTtlMs", math.MinInt64: "leaseTtlMs", 1: "",
		1 << 52: "", 1<<52 + 1: "leaseTtlMs", // the instant would not be exact in JSON
	} {
		wantInvalid(t, domain.ValidateLeaseClaim(&wire.LeaseClaimRequest{OwnerID: "a", TTL: ttl}), field)
		wantInvalid(t, domain.ValidateLeaseRenew(&wire.LeaseRenewRequest{Token: wire.OwnerToken{OwnerID: "a", LeaseGeneration: 1}, TTL: ttl}), field)
	}
	for id, field := range map[string]string{
		"": "", strings.Repeat("c", 64): "", strings.Repeat("c", 65): "claimId",
	} {
		wantInvalid(t, domain.ValidateLeaseClaim(&wire.LeaseClaimRequest{OwnerID: "a", TTL: 1, ClaimID: id}), field)
	}
	for g, field := range map[wire.Generation]string{
		0: "token.leaseGeneration", 1: "", math.MaxInt64: "", math.MaxInt64 + 1: "token.leaseGeneration",
	} {
		wantInvalid(t, domain.ValidateLeaseRelease(&wire.LeaseReleaseRequest{Token: wire.OwnerToken{OwnerID: "a", LeaseGeneration: g}}), field)
	}
}

func TestListRequests(t *testing.T) { // P-04
	t.Parallel()
	for name, tt := range map[string]struct {
		page  wire.PageRequest
		field string
	}{
		"nothing given":   {wire.PageRequest{}, ""},
		"greatest page":   {wire.PageRequest{PageSize: 1000}, ""},
		"too great":       {wire.PageRequest{PageSize: 1001}, "pageSize"},
		"longest token":   {wire.PageRequest{ContinuationToken: strings.Repeat("x", 4096)}, ""},
		"token too long":  {wire.PageRequest{ContinuationToken: strings.Repeat("x", 4097)}, "continuationToken"},
		"live rows alone": {wire.PageRequest{LiveOnly: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, domain.ValidateMeshNodeList(&wire.MeshNodeListRequest{MeshName: "m", PageRequest: tt.page}), tt.field)
			wantInvalid(t, domain.ValidateTopologyList(&wire.TopologyListRequest{PageRequest: tt.page}), tt.field)
			wantInvalid(t, domain.ValidateTopologySummary(&wire.TopologySummaryRequest{PageRequest: tt.page}), tt.field)
		})
	}
	wantInvalid(t, domain.ValidateTopologyList(&wire.TopologyListRequest{NodeRID: wire.RID(strings.Repeat("r", 256))}), "nodeRid")
	wantInvalid(t, domain.ValidateTopologyList(&wire.TopologyListRequest{State: "gone"}), "state")
}

func TestChangeStampScopes(t *testing.T) { // P-02
	t.Parallel()
	const mesh, channel = 1, 2
	for kind, scope := range map[wire.StampKind]int{
		wire.StampMeshNode: mesh, wire.StampPeer: mesh, wire.StampSpot: mesh, wire.StampActor: mesh,
		wire.StampClientServer: channel, wire.StampFanoutPublisher: channel,
		wire.StampRoute: 0, wire.StampAuthority: 0, wire.StampOwnerLease: 0,
	} {
		field := func(allowed int, name string) string {
			if scope == allowed {
				return ""
			}
			return name
		}
		wantInvalid(t, domain.ValidateChangeStampGet(&wire.ChangeStampGetRequest{Kind: kind}), "")
		wantInvalid(t, domain.ValidateChangeStampGet(&wire.ChangeStampGetRequest{Kind: kind, MeshName: "x"}), field(mesh, "meshName"))
		wantInvalid(t, domain.ValidateChangeStampGet(&wire.ChangeStampGetRequest{Kind: kind, ChannelName: "x"}), field(channel, "channelName"))
	}
	wantInvalid(t, domain.ValidateChangeStampGet(&wire.ChangeStampGetRequest{Kind: "transfer"}), "kind")
}

func TestMeshNodeRemoveRequests(t *testing.T) {
	t.Parallel()
	token := wire.OwnerToken{OwnerID: "a", LeaseGeneration: 1}
	for rid, field := range map[wire.RID]string{
		"": "rid", "\x00": "", wire.RID(strings.Repeat("\xff", 255)): "", wire.RID(strings.Repeat("r", 256)): "rid",
	} {
		wantInvalid(t, domain.ValidateMeshNodeRemove(&wire.MeshNodeRemoveRequest{MeshName: "m", RID: rid, Owner: token}), field)
	}
	wantInvalid(t, domain.ValidateMeshNodeRemove(&wire.MeshNodeRemoveRequest{MeshName: "m", RID: "r"}), "owner.ownerId")
}

func TestOpaqueRequests(t *testing.T) {
	t.Parallel()
	long := wire.Bytes(strings.Repeat("k", 1024))
	wantInvalid(t, domain.ValidateStoreRead(&wire.StoreReadRequest{Key: long}), "")
	wantTooLarge(t, domain.ValidateStoreRead(&wire.StoreReadRequest{Key: append(long, 'k')}), "key", 1024, 1025)
	wantInvalid(t, domain.ValidateStoreRead(&wire.StoreReadRequest{Key: wire.Bytes{}}), "key")
	for name, tt := range map[string]struct {
		req   wire.StoreScanRequest
		field string
	}{
		"everything":         {wire.StoreScanRequest{Limit: 1}, ""},
		"longest prefix":     {wire.StoreScanRequest{Prefix: long, Limit: 1000}, ""},
		"limit 0 is not all": {wire.StoreScanRequest{}, "limit"},
		"limit too great":    {wire.StoreScanRequest{Limit: 1001}, "limit"},
		"cursor too long":    {wire.StoreScanRequest{Limit: 1, Cursor: strings.Repeat("x", 4097)}, "cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, domain.ValidateStoreScan(&tt.req), tt.field)
		})
	}
	wantTooLarge(t, domain.ValidateStoreScan(&wire.StoreScanRequest{Prefix: append(long, 'k'), Limit: 1}), "prefix", 1024, 1025)
}

func TestOpaqueWriteRequests(t *testing.T) {
	t.Parallel()
	type request = wire.StoreWriteRequest
	retained := mutation("k", "v")
	retained.Retention = -1
	noBytes, deleteBytes, deleteRetention := mutation("k", "v"), deletion("k"), deletion("k")
	noBytes.Bytes, deleteBytes.Bytes, deleteRetention.Retention = nil, wire.Bytes{}, 1
	expected := missing("k")
	expected.Expected = "1"
	for name, tt := range map[string]struct {
		req   request
		field string
	}{
		"a condition":              {request{Conditions: []wire.StoreCondition{missing("k")}}, ""},
		"key in both lists":        {request{Conditions: []wire.StoreCondition{missing("k")}, Mutations: []wire.StoreMutation{mutation("k", "")}}, ""},
		"nothing":                  {request{}, "mutations"},
		"key twice in conditions":  {request{Conditions: []wire.StoreCondition{missing("k"), missing("l"), hasVersion("k", "1")}}, "conditions[2].key"},
		"key twice in mutations":   {request{Mutations: []wire.StoreMutation{mutation("k", "v"), deletion("k")}}, "mutations[1].key"},
		"empty key in conditions":  {request{Conditions: []wire.StoreCondition{missing("")}}, "conditions[0].key"},
		"put without bytes":        {request{Mutations: []wire.StoreMutation{noBytes}}, "mutations[0].bytes"},
		"put with no retention":    {request{Mutations: []wire.StoreMutation{retained}}, "mutations[0].retentionMs"},
		"delete with bytes":        {request{Mutations: []wire.StoreMutation{deleteBytes}}, "mutations[0].bytes"},
		"delete with retention":    {request{Mutations: []wire.StoreMutation{deleteRetention}}, "mutations[0].retentionMs"},
		"missing with a version":   {request{Conditions: []wire.StoreCondition{expected}}, "conditions[0].expected"},
		"version without one":      {request{Conditions: []wire.StoreCondition{hasVersion("k", "")}}, "conditions[0].expected"},
		"version too long":         {request{Conditions: []wire.StoreCondition{hasVersion("k", wire.Version(strings.Repeat("1", 65)))}}, "conditions[0].expected"},
		"no kind of a condition":   {request{Conditions: []wire.StoreCondition{{Key: wire.Bytes("k")}}}, "conditions[0].kind"},
		"no kind of a mutation":    {request{Mutations: []wire.StoreMutation{{Key: wire.Bytes("k")}}}, "mutations[0].kind"},
		"2048 keys":                {request{Conditions: conditions(1, 1024), Mutations: deletions(0, 1024)}, ""},
		"2049 keys":                {request{Conditions: conditions(1024, 1025), Mutations: deletions(0, 1024)}, "mutations"},
		"the same 1024 keys twice": {request{Conditions: conditions(0, 1024), Mutations: deletions(0, 1024)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, domain.ValidateStoreWrite(&tt.req, 2048), tt.field)
		})
	}
}

func conditions(from, n int) (all []wire.StoreCondition) {
	for i := range n {
		all = append(all, missing(fmt.Sprint(from+i)))
	}
	return all
}

func deletions(from, n int) (all []wire.StoreMutation) {
	for i := range n {
		all = append(all, deletion(fmt.Sprint(from+i)))
	}
	return all
}

func TestOpaqueWriteSizes(t *testing.T) {
	t.Parallel()
	mib := strings.Repeat("x", 1<<20)
	check := func(mutations ...wire.StoreMutation) error {
		return domain.ValidateStoreWrite(&wire.StoreWriteRequest{Mutations: mutations}, 10)
	}
	long := strings.Repeat("k", 1024)
	wantInvalid(t, check(deletion(long), mutation("k", mib)), "")
	wantTooLarge(t, check(deletion("k"), deletion(long+"k")), "mutations[1].key", 1024, 1025)
	wantTooLarge(t, domain.ValidateStoreWrite(&wire.StoreWriteRequest{
		Conditions: []wire.StoreCondition{missing(long + "k")},
	}, 10), "conditions[0].key", 1024, 1025)
	wantTooLarge(t, check(mutation("a", "v"), mutation("k", mib+"x")), "mutations[1].bytes", 1<<20, 1<<20+1)
	four := []wire.StoreMutation{mutation("a", mib), mutation("b", mib), mutation("c", mib)}
	wantInvalid(t, check(append(four, mutation("d", mib[4:]))...), "")
	wantTooLarge(t, check(append(four, mutation("d", mib[3:]))...), "payload", 4<<20, 4<<20+1)
	wantInvalid(t, check(deletions(0, 10)...), "")
	wantTooLarge(t, check(deletions(0, 11)...), "mutations", 10, 11)
}
