package domain_test

import (
	"math"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// part is a change of a part of a request, and the field within that part that is
// refused for it; "" where the part as a whole is, allowed where none is.
type part[P any] struct {
	edit  func(*P)
	field string
}

const allowed = "allowed"

// parts requires that what is wrong with a part is refused by the name of its field
// in a request, of which at says where the part is.
func parts[Q, P any](t *testing.T, validate func(*Q) error, request func() *Q, path string, at func(*Q) *P, table map[string]part[P]) {
	t.Helper()
	for name, tt := range table {
		req := request()
		tt.edit(at(req))
		field := path + "." + tt.field
		switch tt.field {
		case allowed:
			field = ""
		case "":
			field = path
		}
		t.Logf("%T: %s", req, name)
		wantInvalid(t, validate(req), field)
	}
}

// texts are values of a text of 1 to limit bytes.
func texts(limit int, field string) map[string]part[string] {
	return map[string]part[string]{
		"empty":     {func(s *string) { *s = "" }, field},
		"NUL":       {func(s *string) { *s = "a\x00b" }, field},
		"not UTF-8": {func(s *string) { *s = "\xff" }, field},
		"too long":  {func(s *string) { *s = strings.Repeat("a", limit+1) }, field},
		"longest":   {func(s *string) { *s = strings.Repeat("a", limit) }, allowed},
		"a space":   {func(s *string) { *s = " " }, allowed},
	}
}

var keyParts = map[string]part[wire.ObjectKey]{
	"no kind":         {func(k *wire.ObjectKey) { k.Kind = "" }, "kind"},
	"an unknown kind": {func(k *wire.ObjectKey) { k.Kind = "entrySpot" }, "kind"},
	"empty id":        {func(k *wire.ObjectKey) { k.GlobalID = "" }, "globalId"},
	"id with NUL":     {func(k *wire.ObjectKey) { k.GlobalID = "a\x00" }, "globalId"},
	"id not UTF-8":    {func(k *wire.ObjectKey) { k.GlobalID = "\xff" }, "globalId"},
	"id too long":     {func(k *wire.ObjectKey) { k.GlobalID = strings.Repeat("x", 256) }, "globalId"},
	"longest id":      {func(k *wire.ObjectKey) { k.GlobalID = strings.Repeat("%", 255) }, allowed},
}

var targetParts = map[string]part[wire.Target]{
	"no mesh":              {func(t *wire.Target) { t.MeshName = "" }, "meshName"},
	"mesh too long":        {func(t *wire.Target) { t.MeshName = strings.Repeat("x", 256) }, "meshName"},
	"no RID":               {func(t *wire.Target) { t.NodeRID = "" }, "nodeRid"},
	"RID of any bytes":     {func(t *wire.Target) { t.NodeRID = "\x00\xff" }, allowed},
	"RID too long":         {func(t *wire.Target) { t.NodeRID = wire.RID(strings.Repeat("x", 256)) }, "nodeRid"},
	"lifecycle 0":          {func(t *wire.Target) { t.NodeLifecycleGeneration = 0 }, "nodeLifecycleGeneration"},
	"greatest lifecycle":   {func(t *wire.Target) { t.NodeLifecycleGeneration = math.MaxInt64 }, allowed},
	"lifecycle too great":  {func(t *wire.Target) { t.NodeLifecycleGeneration = math.MaxInt64 + 1 }, "nodeLifecycleGeneration"},
	"no owner":             {func(t *wire.Target) { t.Owner.OwnerID = "" }, "owner.ownerId"},
	"lease generation 0":   {func(t *wire.Target) { t.Owner.LeaseGeneration = 0 }, "owner.leaseGeneration"},
	"generation too great": {func(t *wire.Target) { t.Owner.LeaseGeneration = math.MaxInt64 + 1 }, "owner.leaseGeneration"},
}

var intentParts = map[string]part[wire.CreationIntent]{
	"no type":             {func(i *wire.CreationIntent) { i.StableType = "" }, "stableType"},
	"type too long":       {func(i *wire.CreationIntent) { i.StableType = strings.Repeat("x", 256) }, "stableType"},
	"no reference":        {func(i *wire.CreationIntent) { i.RequestContentReference = "" }, "requestContentReference"},
	"reference with NUL":  {func(i *wire.CreationIntent) { i.RequestContentReference = "a\x00" }, "requestContentReference"},
	"longest reference":   {func(i *wire.CreationIntent) { i.RequestContentReference = strings.Repeat("x", 1<<20) }, allowed},
	"reference too long":  {func(i *wire.CreationIntent) { i.RequestContentReference = strings.Repeat("x", 1<<20+1) }, "requestContentReference"},
	"no digest":           {func(i *wire.CreationIntent) { i.RequestSHA256 = nil }, "requestSha256"},
	"digest of 31 bytes":  {func(i *wire.CreationIntent) { i.RequestSHA256 = i.RequestSHA256[:31] }, "requestSha256"},
	"digest of 33 bytes":  {func(i *wire.CreationIntent) { i.RequestSHA256 = make(wire.Bytes, 33) }, "requestSha256"},
	"request of nothing":  {func(i *wire.CreationIntent) { i.RequestEncodedSize = 0 }, allowed},
	"greatest request":    {func(i *wire.CreationIntent) { i.RequestEncodedSize = 1 << 20 }, allowed},
	"request too great":   {func(i *wire.CreationIntent) { i.RequestEncodedSize = 1<<20 + 1 }, "requestEncodedSize"},
	"any digest is taken": {func(i *wire.CreationIntent) { i.RequestSHA256 = make(wire.Bytes, 32) }, allowed},
}

var capacityParts = map[string]part[wire.Capacity]{
	"nothing":             {func(c *wire.Capacity) { *c = wire.Capacity{} }, ""},
	"actors alone":        {func(c *wire.Capacity) { *c = wire.Capacity{Actors: 1} }, allowed},
	"spots alone":         {func(c *wire.Capacity) { *c = wire.Capacity{Spots: 1} }, allowed},
	"a type alone":        {func(c *wire.Capacity) { c.Actors, c.Spots = 0, 0 }, allowed},
	"greatest counts":     {func(c *wire.Capacity) { c.Actors, c.Spots, c.SpotType.Count = 1<<31-1, 1<<31-1, 1<<31-1 }, allowed},
	"actors too many":     {func(c *wire.Capacity) { c.Actors = 1 << 31 }, "actors"},
	"spots too many":      {func(c *wire.Capacity) { c.Spots = 1 << 31 }, "spots"},
	"none of a type":      {func(c *wire.Capacity) { c.SpotType.Count = 0 }, "spotType.count"},
	"too many of a type":  {func(c *wire.Capacity) { c.SpotType.Count = 1 << 31 }, "spotType.count"},
	"type of no kind":     {func(c *wire.Capacity) { c.SpotType.ObjectKind = "" }, "spotType.objectKind"},
	"a type of actors":    {func(c *wire.Capacity) { c.SpotType.ObjectKind = "actor" }, "spotType.objectKind"},
	"a type without name": {func(c *wire.Capacity) { c.SpotType.StableType = "" }, "spotType.stableType"},
}

var operationParts = map[string]part[wire.OperationKey]{
	"no RID":               {func(o *wire.OperationKey) { o.SourceNodeRID = "" }, "sourceNodeRid"},
	"RID too long":         {func(o *wire.OperationKey) { o.SourceNodeRID = wire.RID(strings.Repeat("x", 256)) }, "sourceNodeRid"},
	"generation 0":         {func(o *wire.OperationKey) { o.SourceNodeGeneration = 0 }, "sourceNodeGeneration"},
	"generation too great": {func(o *wire.OperationKey) { o.SourceNodeGeneration = math.MaxInt64 + 1 }, "sourceNodeGeneration"},
	"operation 0, 0":       {func(o *wire.OperationKey) { o.OperationID = wire.OperationID{} }, "operationId"}, // C-10
	"operation high alone": {func(o *wire.OperationKey) { o.OperationID = wire.OperationID{High: math.MaxUint64} }, allowed},
	"operation low alone":  {func(o *wire.OperationKey) { o.OperationID = wire.OperationID{Low: math.MaxUint64} }, allowed},
}

// reservationIDs are those that are refused, and two that are not.
var reservationIDs = map[string]part[string]{
	"upper case":      {func(s *string) { *s = "FFFFFFFF-ffff-4fff-bfff-ffffffffffff" }, ""}, // C-08
	"one upper case":  {func(s *string) { *s = "ffffffff-ffff-4fff-bfff-fffffffffffF" }, ""},
	"no dashes":       {func(s *string) { *s = "ffffffffffff4fffbfffffffffffffff" }, ""},
	"misplaced dash":  {func(s *string) { *s = "fffffffff-fff-4fff-bfff-ffffffffffff" }, ""},
	"braces":          {func(s *string) { *s = "{fffffff-ffff-4fff-bfff-fffffffffff}" }, ""},
	"not hexadecimal": {func(s *string) { *s = "gfffffff-ffff-4fff-bfff-ffffffffffff" }, ""},
	"too short":       {func(s *string) { *s = "ffffffff-ffff-4fff-bfff-fffffffffff" }, ""},
	"too long":        {func(s *string) { *s = "ffffffff-ffff-4fff-bfff-fffffffffffff" }, ""},
	"nil UUID":        {func(s *string) { *s = "00000000-0000-0000-0000-000000000000" }, allowed},
	"any version":     {func(s *string) { *s = "01234567-89ab-fdef-0123-456789abcdef" }, allowed},
}

var versionParts = map[string]part[wire.Version]{
	"empty":         {func(v *wire.Version) { *v = "" }, ""},
	"longest":       {func(v *wire.Version) { *v = wire.Version(strings.Repeat("1", 64)) }, allowed},
	"too long":      {func(v *wire.Version) { *v = wire.Version(strings.Repeat("1", 65)) }, ""},
	"no version":    {func(v *wire.Version) { *v = "x" }, allowed},
	"a leading 0":   {func(v *wire.Version) { *v = "01" }, allowed},
	"above 64 bits": {func(v *wire.Version) { *v = "99999999999999999999" }, allowed},
}

func TestPartsOfReserve(t *testing.T) { // 1.6, C-08
	t.Parallel()
	type request = wire.ObjectReserveRequest
	valid, fn := validReserve, domain.ValidateObjectReserve
	parts(t, fn, valid, "key", func(r *request) *wire.ObjectKey { return &r.Key }, keyParts)
	parts(t, fn, valid, "intent", func(r *request) *wire.CreationIntent { return &r.Intent }, intentParts)
	parts(t, fn, valid, "target", func(r *request) *wire.Target { return &r.Target }, targetParts)
	parts(t, fn, valid, "capacity", func(r *request) *wire.Capacity { return &r.Capacity }, capacityParts)
	parts(t, fn, valid, "reservationId", func(r *request) *string { return &r.ReservationID }, reservationIDs)
	parts(t, fn, valid, "intent.stableType", func(r *request) *string { return &r.Intent.StableType }, texts(255, ""))
	parts(t, fn, valid, "endedOwner", func(r *request) *wire.EndedOwner { return &r.EndedOwner }, endedOwners)
	parts(t, fn, valid, "reservationId", func(r *request) *string { return &r.ReservationID },
		map[string]part[string]{"absent": {func(s *string) { *s = "" }, allowed}})
}

var endedOwners = map[string]part[wire.EndedOwner]{
	"absent":  {func(o *wire.EndedOwner) { *o = "" }, allowed},
	"keep":    {func(o *wire.EndedOwner) { *o = "keep" }, allowed},
	"release": {func(o *wire.EndedOwner) { *o = "release" }, allowed},
	"unknown": {func(o *wire.EndedOwner) { *o = "Release" }, ""},
}

func TestPartsOfPlace(t *testing.T) { // 1.6
	t.Parallel()
	type request = wire.ObjectPlaceRequest
	valid, fn := func() *request { return placed(validReserve()) }, domain.ValidateObjectPlace
	parts(t, fn, valid, "key", func(r *request) *wire.ObjectKey { return &r.Key }, keyParts)
	parts(t, fn, valid, "intent", func(r *request) *wire.CreationIntent { return &r.Intent }, intentParts)
	parts(t, fn, valid, "meshName", func(r *request) *string { return &r.MeshName }, texts(255, ""))
	parts(t, fn, valid, "capacity", func(r *request) *wire.Capacity { return &r.Capacity }, capacityParts)
	parts(t, fn, valid, "reservationId", func(r *request) *string { return &r.ReservationID }, reservationIDs)
	parts(t, fn, valid, "endedOwner", func(r *request) *wire.EndedOwner { return &r.EndedOwner }, endedOwners)
	parts(t, fn, valid, "exclude", func(r *request) *[]wire.Incarnation { return &r.Exclude }, excludeParts)
}

func TestPartsOfSelect(t *testing.T) { // 1.6
	t.Parallel()
	type request = wire.PlacementSelectRequest
	valid, fn := func() *request {
		takes := *roomCapacity.SpotType
		return &request{
			MeshName: "play", ObjectKind: wire.ObjectUserSpot, StableType: "room",
			Capacity: wire.Capacity{Spots: 1, SpotType: &takes},
		}
	}, domain.ValidatePlacementSelect
	parts(t, fn, valid, "meshName", func(r *request) *string { return &r.MeshName }, texts(255, ""))
	parts(t, fn, valid, "stableType", func(r *request) *string { return &r.StableType }, texts(255, ""))
	parts(t, fn, valid, "capacity", func(r *request) *wire.Capacity { return &r.Capacity }, capacityParts)
	parts(t, fn, valid, "objectKind", func(r *request) *wire.ObjectKind { return &r.ObjectKind }, map[string]part[wire.ObjectKind]{
		"none":  {func(k *wire.ObjectKind) { *k = "" }, ""},
		"spot":  {func(k *wire.ObjectKind) { *k = "spot" }, ""},
		"actor": {func(k *wire.ObjectKind) { *k = wire.ObjectActor }, allowed},
	})
}

// excludeParts are refused in "exclude".
var excludeParts = map[string]part[[]wire.Incarnation]{
	"a node": {func(e *[]wire.Incarnation) {
		*e = []wire.Incarnation{{RID: "\x00", LifecycleGeneration: math.MaxInt64}}
	}, allowed},
}

func TestExcludedNodesAreNamedByTheirIndex(t *testing.T) { // 1.6
	t.Parallel()
	for field, node := range map[string]wire.Incarnation{
		"exclude[1].rid":                 {LifecycleGeneration: 1},
		"exclude[1].lifecycleGeneration": {RID: "n1", LifecycleGeneration: math.MaxInt64 + 1},
	} {
		nodes := []wire.Incarnation{{RID: "n1", LifecycleGeneration: 1}, node}
		place := placed(validReserve())
		place.Exclude = nodes
		wantInvalid(t, domain.ValidateObjectPlace(place), field)
		wantInvalid(t, domain.ValidatePlacementSelect(&wire.PlacementSelectRequest{
			MeshName: "play", ObjectKind: wire.ObjectActor, StableType: "hero", Capacity: actorCapacity, Exclude: nodes,
		}), field)
	}
}
