package domain_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

var someToken = wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}

// wantField requires that a field of the row in a request is refused; "" that none is.
func wantField(t *testing.T, err error, row, field string) {
	t.Helper()
	if field != "" {
		field = row + "." + field
	}
	wantInvalid(t, err, field)
}

func checkPeer(edits ...func(*wire.Peer)) error {
	return domain.ValidatePeerUpdate(&wire.PeerUpdateRequest{Peer: peer("n1", someToken, edits...), Intent: wire.IntentRenew})
}

func TestPeerFields(t *testing.T) { // 1.6
	t.Parallel()
	long := strings.Repeat("x", 1025)
	for name, tt := range map[string]struct {
		edit  func(*wire.Peer)
		field string // within the row; empty when it is allowed
	}{
		"as it is":                     {func(*wire.Peer) {}, ""},
		"no type":                      {func(p *wire.Peer) { p.AutoConnectType = "" }, "autoConnectType"},
		"fanout":                       {fanout, ""},
		"empty mesh":                   {func(p *wire.Peer) { p.MeshName = "" }, "meshName"},
		"no role":                      {func(p *wire.Peer) { p.Role = "" }, "role"},
		"unknown role":                 {func(p *wire.Peer) { p.Role = "king" }, "role"},
		"RID of any bytes":             {func(p *wire.Peer) { p.NodeRID = "\x00\xff" }, ""},
		"no RID":                       {func(p *wire.Peer) { p.NodeRID = "" }, ""},
		"RID too long":                 {func(p *wire.Peer) { p.NodeRID = wire.RID(long[:256]) }, "nodeRid"},
		"no endpoint":                  {func(p *wire.Peer) { p.Endpoint = "" }, "endpoint"},
		"longest endpoint":             {func(p *wire.Peer) { p.Endpoint = long[1:] }, ""},
		"endpoint too long":            {func(p *wire.Peer) { p.Endpoint = long }, "endpoint"},
		"NUL in the endpoint":          {func(p *wire.Peer) { p.Endpoint = "e\x00" }, "endpoint"},
		"weight 0":                     {func(p *wire.Peer) { p.Weight = 0 }, ""},
		"greatest weight":              {func(p *wire.Peer) { p.Weight = 10_000 }, ""},
		"weight too great":             {func(p *wire.Peer) { p.Weight = 10_001 }, "weight"},
		"any value":                    {func(p *wire.Peer) { p.Value = math.MaxUint64 }, ""},
		"no metadata":                  {func(p *wire.Peer) { p.Metadata = nil }, ""},
		"any text in metadata":         {func(p *wire.Peer) { p.Metadata["k"] = "\x00" + long }, ""},
		"metadata without name":        {func(p *wire.Peer) { p.Metadata[""] = "v" }, `metadata[""]`},
		"longest name in metadata":     {func(p *wire.Peer) { p.Metadata[long[:255]] = "" }, ""},
		"name in metadata too long":    {func(p *wire.Peer) { p.Metadata[long[:256]] = "" }, "metadata." + long[:256]},
		"NUL in a name of metadata":    {func(p *wire.Peer) { p.Metadata["a\x00"] = "" }, `metadata["a\x00"]`},
		"the least of two bad names":   {func(p *wire.Peer) { p.Metadata["b\x00"], p.Metadata["a\x00"] = "", "" }, `metadata["a\x00"]`},
		"no capabilities":              {func(p *wire.Peer) { p.Capabilities = nil }, ""},
		"capability twice":             {func(p *wire.Peer) { p.Capabilities = []string{"c", "c"} }, ""},
		"capability without name":      {func(p *wire.Peer) { p.Capabilities[1] = "" }, "capabilities[1]"},
		"capability's name too long":   {func(p *wire.Peer) { p.Capabilities[0] = long[:256] }, "capabilities[0]"},
		"empty owner":                  {func(p *wire.Peer) { p.OwnerID = "" }, "ownerId"},
		"lease generation 0":           {func(p *wire.Peer) { p.LeaseGeneration = 0 }, "leaseGeneration"},
		"lease generation above range": {func(p *wire.Peer) { p.LeaseGeneration = 1 << 63 }, "leaseGeneration"},
		"stamped fields are not read":  {func(p *wire.Peer) { p.Generation, p.UpdatedAt = math.MaxUint64, -1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantField(t, checkPeer(tt.edit), "peer", tt.field)
		})
	}
}

func TestSpotFields(t *testing.T) { // 1.6
	t.Parallel()
	for name, tt := range map[string]struct {
		edit  func(*wire.Spot)
		field string
	}{
		"as it is":                 {func(*wire.Spot) {}, ""},
		"empty mesh":               {func(s *wire.Spot) { s.MeshName = "" }, "meshName"},
		"empty id":                 {func(s *wire.Spot) { s.SpotID = "" }, "spotId"},
		"NUL in the id":            {func(s *wire.Spot) { s.SpotID = "\x00" }, "spotId"},
		"spot generation 0":        {func(s *wire.Spot) { s.SpotGeneration = 0 }, "spotGeneration"},
		"greatest spot generation": {func(s *wire.Spot) { s.SpotGeneration = math.MaxInt64 }, ""},
		"spot generation too high": {func(s *wire.Spot) { s.SpotGeneration = 1 << 63 }, "spotGeneration"},
		"empty type":               {func(s *wire.Spot) { s.SpotType = "" }, "spotType"},
		"no node":                  {func(s *wire.Spot) { s.OwnerNodeRID = "" }, "ownerNodeRid"},
		"node of any bytes":        {func(s *wire.Spot) { s.OwnerNodeRID = "\x00" }, ""},
		"node generation 0":        {func(s *wire.Spot) { s.OwnerNodeGeneration = 0 }, "ownerNodeGeneration"},
		"no kind":                  {func(s *wire.Spot) { s.SpotKind = "" }, "spotKind"},
		"kind of an object":        {func(s *wire.Spot) { s.SpotKind = "userSpot" }, "spotKind"},
		"empty owner":              {func(s *wire.Spot) { s.OwnerID = "" }, "ownerId"},
		"stamped are not read":     {func(s *wire.Spot) { s.Generation, s.UpdatedAt = math.MaxUint64, -1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &wire.SpotUpdateRequest{Spot: spot("r1", someToken, tt.edit), Intent: wire.IntentRenew}
			wantField(t, domain.ValidateSpotUpdate(req), "spot", tt.field)
		})
	}
}

func TestActorFields(t *testing.T) { // 1.6, 4
	t.Parallel()
	for name, tt := range map[string]struct {
		edit  func(*wire.Actor)
		field string
	}{
		"as it is":                     {func(*wire.Actor) {}, ""},
		"empty mesh":                   {func(a *wire.Actor) { a.MeshName = "" }, "meshName"},
		"empty id":                     {func(a *wire.Actor) { a.ActorID = "" }, "actorId"},
		"empty type":                   {func(a *wire.Actor) { a.ActorType = "" }, "actorType"},
		"reference to another actor":   {func(a *wire.Actor) { a.ActorRef.ActorID = "a2" }, "actorRef.actorId"},
		"reference to another mesh":    {func(a *wire.Actor) { a.ActorRef.MeshName = "lab" }, "actorRef.meshName"},
		"reference to another node":    {func(a *wire.Actor) { a.ActorRef.NodeRID = "n9" }, ""},
		"reference without actor":      {func(a *wire.Actor) { a.ActorRef.ActorID = "" }, "actorRef.actorId"},
		"reference without mesh":       {func(a *wire.Actor) { a.ActorRef.MeshName = "" }, "actorRef.meshName"},
		"reference without node":       {func(a *wire.Actor) { a.ActorRef.NodeRID = "" }, "actorRef.nodeRid"},
		"object generation 0":          {func(a *wire.Actor) { a.ActorRef.ObjectGeneration = 0 }, "actorRef.objectGeneration"},
		"no node":                      {func(a *wire.Actor) { a.OwnerNodeRID = "" }, "ownerNodeRid"},
		"node generation 0":            {func(a *wire.Actor) { a.OwnerNodeGeneration = 0 }, "ownerNodeGeneration"},
		"no kind of spot":              {func(a *wire.Actor) { a.SpotKind = "" }, "spotKind"},
		"no spot":                      {func(a *wire.Actor) { a.SpotID = "" }, "spotId"},
		"spot generation 0":            {func(a *wire.Actor) { a.SpotGeneration = 0 }, "spotGeneration"},
		"membership epoch 0":           {func(a *wire.Actor) { a.MembershipEpoch = 0 }, ""},
		"greatest membership epoch":    {func(a *wire.Actor) { a.MembershipEpoch = math.MaxInt64 }, ""},
		"membership epoch above range": {func(a *wire.Actor) { a.MembershipEpoch = 1 << 63 }, "membershipEpoch"},
		"lease generation 0":           {func(a *wire.Actor) { a.LeaseGeneration = 0 }, "leaseGeneration"},
		"stamped fields are not read":  {func(a *wire.Actor) { a.Generation, a.UpdatedAt = math.MaxUint64, -1 }, ""},
		"mesh that is not UTF-8":       {func(a *wire.Actor) { a.MeshName, a.ActorRef.MeshName = "\xff", "\xff" }, "meshName"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &wire.ActorUpdateRequest{Actor: actor("a1", someToken, tt.edit), Intent: wire.IntentRenew}
			wantField(t, domain.ValidateActorUpdate(req), "actor", tt.field)
		})
	}
}

func checkRoute(edits ...func(*wire.Route)) error {
	return domain.ValidateRouteUpdate(&wire.RouteUpdateRequest{Route: route("k1", someToken, edits...), Intent: wire.IntentRenew})
}

func TestRouteFields(t *testing.T) { // 1.6
	t.Parallel()
	for name, tt := range map[string]struct {
		edit  func(*wire.Route)
		field string
	}{
		"as it is":             {func(*wire.Route) {}, ""},
		"no kind":              {func(r *wire.Route) { r.RouteKind = "" }, "routeKind"},
		"unknown kind":         {func(r *wire.Route) { r.RouteKind = "x" }, "routeKind"},
		"empty key":            {func(r *wire.Route) { r.RouteKey = "" }, "routeKey"},
		"no node":              {func(r *wire.Route) { r.OwnerNodeRID = "" }, "ownerNodeRid"},
		"empty value":          {func(r *wire.Route) { r.Value = nil }, ""},
		"empty owner":          {func(r *wire.Route) { r.OwnerID = "" }, "ownerId"},
		"lease generation 0":   {func(r *wire.Route) { r.LeaseGeneration = 0 }, "leaseGeneration"},
		"stamped are not read": {func(r *wire.Route) { r.Generation, r.UpdatedAt = math.MaxUint64, -1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantField(t, checkRoute(tt.edit), "route", tt.field)
		})
	}
}

func TestEncodedLocationRowIsAtMostOneMiB(t *testing.T) { // 1.6
	t.Parallel()
	const limit = 1 << 20
	value := func(n int) func(*wire.Route) {
		return func(r *wire.Route) { r.Value = make([]byte, n) }
	}
	wantTooLarge(t, checkRoute(value(limit+1)), "route.value", limit, limit+1)
	r := route("k1", someToken, value(limit))
	r.Generation, r.UpdatedAt = math.MaxInt64, math.MaxInt64
	b, err := domain.EncodeRecord(&r)
	if err != nil {
		t.Fatal(err)
	}
	rest := len(b) - limit
	wantInvalid(t, checkRoute(value(limit-rest)), "")
	wantTooLarge(t, checkRoute(value(limit-rest+1)), "route", limit, limit+1)

	padded := func(n int) func(*wire.Peer) {
		return func(p *wire.Peer) { p.Metadata["padding"] = strings.Repeat("x", n) }
	}
	p := peer("n1", someToken, padded(limit))
	p.Generation, p.UpdatedAt = math.MaxInt64, math.MaxInt64
	if b, err = domain.EncodeRecord(&p); err != nil {
		t.Fatal(err)
	}
	rest = len(b) - limit
	wantInvalid(t, checkPeer(padded(limit-rest)), "")
	wantTooLarge(t, checkPeer(padded(limit-rest+1)), "peer", limit, limit+1)
	names := func(n int) func(*wire.Peer) {
		return func(p *wire.Peer) {
			for range n {
				p.Capabilities = append(p.Capabilities, strings.Repeat("c", 255))
			}
		}
	}
	wantInvalid(t, checkPeer(names(4000)), "")
	var large *wire.TooLargeError
	if err := checkPeer(names(4200)); !errors.As(err, &large) || large.Field != "peer" {
		t.Errorf("error %v, want the peer to be too large", err)
	}
}

func TestLocationIntents(t *testing.T) {
	t.Parallel()
	wantInvalid(t, domain.ValidatePeerUpdate(&wire.PeerUpdateRequest{Peer: peer("n1", someToken)}), "intent")
	wantInvalid(t, domain.ValidateSpotUpdate(&wire.SpotUpdateRequest{Spot: spot("r1", someToken)}), "intent")
	wantInvalid(t, domain.ValidateActorUpdate(&wire.ActorUpdateRequest{Actor: actor("a1", someToken)}), "intent")
	wantInvalid(t, domain.ValidateRouteUpdate(&wire.RouteUpdateRequest{Route: route("k1", someToken), Intent: "grab"}), "intent")
}

func TestLocationKeys(t *testing.T) { // 1.6, R-09
	t.Parallel()
	key := wire.PeerKey{AutoConnectType: wire.ConnectFanout, MeshName: "m", Role: wire.PeerSub, NodeRID: "n1"}
	for _, tt := range []struct {
		edit  func(*wire.PeerKey)
		field string
	}{
		{func(*wire.PeerKey) {}, ""},
		{func(k *wire.PeerKey) { k.AutoConnectType = "" }, "key.autoConnectType"},
		{func(k *wire.PeerKey) { k.MeshName = "" }, "key.meshName"},
		{func(k *wire.PeerKey) { k.Role = "" }, "key.role"},
		{func(k *wire.PeerKey) { k.NodeRID = wire.RID(strings.Repeat("x", 256)) }, "key.nodeRid"},
		{func(k *wire.PeerKey) { k.NodeRID = "" }, "key.nodeRid"},
		{func(k *wire.PeerKey) { k.NodeRID, k.Endpoint = "", "e" }, ""},
		{func(k *wire.PeerKey) { k.NodeRID, k.Endpoint = "", "e\x00" }, "key.endpoint"},
		{func(k *wire.PeerKey) { k.Endpoint = "e" }, ""},
	} {
		k := key
		tt.edit(&k)
		wantInvalid(t, domain.ValidatePeerRemove(&wire.PeerRemoveRequest{Key: k, Owner: someToken}), tt.field)
	}
	wantInvalid(t, domain.ValidatePeerRemove(&wire.PeerRemoveRequest{Key: key}), "owner.ownerId")
	for id, ok := range identifiers {
		field := func(name string) string {
			if ok {
				return ""
			}
			return name
		}
		wantInvalid(t, domain.ValidateSpotRemove(&wire.SpotRemoveRequest{MeshName: id, SpotID: "s", Owner: someToken}), field("meshName"))
		wantInvalid(t, domain.ValidateSpotRemove(&wire.SpotRemoveRequest{MeshName: "m", SpotID: id, Owner: someToken}), field("spotId"))
		wantInvalid(t, domain.ValidateSpotResolve(&wire.SpotResolveRequest{MeshName: id, SpotID: "s"}), field("meshName"))
		wantInvalid(t, domain.ValidateSpotResolve(&wire.SpotResolveRequest{MeshName: "m", SpotID: id}), field("spotId"))
		wantInvalid(t, domain.ValidateActorRemove(&wire.ActorRemoveRequest{MeshName: id, ActorID: "a", Owner: someToken}), field("meshName"))
		wantInvalid(t, domain.ValidateActorRemove(&wire.ActorRemoveRequest{MeshName: "m", ActorID: id, Owner: someToken}), field("actorId"))
		wantInvalid(t, domain.ValidateActorResolve(&wire.ActorResolveRequest{MeshName: id, ActorID: "a"}), field("meshName"))
		wantInvalid(t, domain.ValidateActorResolve(&wire.ActorResolveRequest{MeshName: "m", ActorID: id}), field("actorId"))
		const kind = wire.RouteSpotName
		wantInvalid(t, domain.ValidateRouteRemove(&wire.RouteRemoveRequest{RouteKind: kind, RouteKey: id, Owner: someToken}), field("routeKey"))
		wantInvalid(t, domain.ValidateRouteResolve(&wire.RouteResolveRequest{RouteKind: kind, RouteKey: id}), field("routeKey"))
	}
	wantInvalid(t, domain.ValidateSpotRemove(&wire.SpotRemoveRequest{MeshName: "m", SpotID: "s"}), "owner.ownerId")
	wantInvalid(t, domain.ValidateActorRemove(&wire.ActorRemoveRequest{MeshName: "m", ActorID: "a"}), "owner.ownerId")
	wantInvalid(t, domain.ValidateRouteRemove(&wire.RouteRemoveRequest{RouteKind: "x", RouteKey: "k", Owner: someToken}), "routeKind")
	wantInvalid(t, domain.ValidateRouteRemove(&wire.RouteRemoveRequest{RouteKind: wire.RouteSpotName, RouteKey: "k"}), "owner.ownerId")
	wantInvalid(t, domain.ValidateRouteResolve(&wire.RouteResolveRequest{RouteKey: "k"}), "routeKind")
}

func TestLocationFilters(t *testing.T) { // 1.6
	t.Parallel()
	long := strings.Repeat("x", 256)
	for _, tt := range []struct {
		filter wire.PeerFilter
		field  string
	}{
		{wire.PeerFilter{}, ""},
		{wire.PeerFilter{AutoConnectType: wire.ConnectFanout, MeshName: "m", Role: wire.PeerPub, NodeRID: "\x00", Endpoint: "e"}, ""},
		{wire.PeerFilter{AutoConnectType: "x"}, "autoConnectType"},
		{wire.PeerFilter{MeshName: "\x00"}, "meshName"},
		{wire.PeerFilter{Role: "x"}, "role"},
		{wire.PeerFilter{NodeRID: wire.RID(long)}, "nodeRid"},
		{wire.PeerFilter{Endpoint: "\x00"}, "endpoint"},
	} {
		wantField(t, domain.ValidatePeerList(&wire.PeerListRequest{Filter: &tt.filter}), "filter", tt.field)
	}
	for _, tt := range []struct {
		filter wire.SpotFilter
		field  string
	}{
		{wire.SpotFilter{MeshName: "m", SpotType: "t", NodeRID: "\x00", SpotKind: wire.SpotKindEntry}, ""},
		{wire.SpotFilter{MeshName: long}, "meshName"},
		{wire.SpotFilter{SpotType: "\xff"}, "spotType"},
		{wire.SpotFilter{NodeRID: wire.RID(long)}, "nodeRid"},
		{wire.SpotFilter{SpotKind: "x"}, "spotKind"},
	} {
		wantField(t, domain.ValidateSpotList(&wire.SpotListRequest{Filter: &tt.filter}), "filter", tt.field)
	}
	for _, tt := range []struct {
		filter wire.ActorFilter
		field  string
	}{
		{wire.ActorFilter{MeshName: "m", ActorType: "t", NodeRID: "\x00", SpotID: "s", SpotKind: wire.SpotKindEntry}, ""},
		{wire.ActorFilter{MeshName: long}, "meshName"},
		{wire.ActorFilter{ActorType: "\xff"}, "actorType"},
		{wire.ActorFilter{NodeRID: wire.RID(long)}, "nodeRid"},
		{wire.ActorFilter{SpotID: "\x00"}, "spotId"},
		{wire.ActorFilter{SpotKind: "x"}, "spotKind"},
	} {
		wantField(t, domain.ValidateActorList(&wire.ActorListRequest{Filter: &tt.filter}), "filter", tt.field)
	}
	for _, tt := range []struct {
		filter wire.RouteFilter
		field  string
	}{
		{wire.RouteFilter{RouteKind: wire.RouteFramework, OwnerNodeRID: "\x00", OwnerID: "o"}, ""},
		{wire.RouteFilter{RouteKind: "x"}, "routeKind"},
		{wire.RouteFilter{OwnerNodeRID: wire.RID(long)}, "ownerNodeRid"},
		{wire.RouteFilter{OwnerID: "\x00"}, "ownerId"},
	} {
		wantField(t, domain.ValidateRouteList(&wire.RouteListRequest{Filter: &tt.filter}), "filter", tt.field)
	}
}

func TestLocationPages(t *testing.T) { // P-04
	t.Parallel()
	for _, tt := range []struct {
		page  wire.PageRequest
		field string
	}{
		{wire.PageRequest{}, ""},
		{wire.PageRequest{PageSize: 1000, LiveOnly: true}, ""},
		{wire.PageRequest{PageSize: 1001}, "pageSize"},
		{wire.PageRequest{ContinuationToken: strings.Repeat("x", 4097)}, "continuationToken"},
	} {
		wantInvalid(t, domain.ValidatePeerList(&wire.PeerListRequest{PageRequest: tt.page}), tt.field)
		wantInvalid(t, domain.ValidateSpotList(&wire.SpotListRequest{PageRequest: tt.page}), tt.field)
		wantInvalid(t, domain.ValidateActorList(&wire.ActorListRequest{PageRequest: tt.page}), tt.field)
		wantInvalid(t, domain.ValidateRouteList(&wire.RouteListRequest{PageRequest: tt.page}), tt.field)
	}
}
