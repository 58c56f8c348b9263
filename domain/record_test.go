package domain_test

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

var update = flag.Bool("update", false, "rewrite the test vectors")

// recordOf encodes a body as the value of a row.
func recordOf(t tb, body map[string]any) []byte {
	t.Helper()
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := mode.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{0x82, 1}, b...)
}

// bodyOf decodes the value of a row, to be changed and encoded again.
func bodyOf(t tb, value []byte) map[string]any {
	t.Helper()
	body := map[string]any{}
	if err := cbor.Unmarshal(value[2:], &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// vectors are rows by the names of their files, as the rules store them.
func vectors(t *testing.T) map[string]*kvstore.Row {
	w := newWorld(t)
	a := w.claim("owner-a")
	b := write(w, domain.ClaimLease, claim("b\x01é", "claim-1")).Token
	w.renew(*b)
	w.stored(wire.IntentNewClaim, node("n1", a, func(d *wire.MeshNodeDescriptor) {
		d.ObjectRole, d.ChannelWeights, d.SpotTypes = wire.RoleNone, nil, nil
		d.PopulationCapacity.SpotTypes = nil
	}))
	w.stored(wire.IntentNewClaim, node("\x00\xff", a, endpoint("tcp://n2:7000"), capabilities, entrySpot("lobby"), state(wire.StateDraining), func(d *wire.MeshNodeDescriptor) {
		d.MaintenanceWave = "w1"
		d.PopulationCapacity.Actors.Limit = 1 << 20
	}))
	for _, f := range []*channelFamily{channelFamilies["client-server"], channelFamilies["fanout-publisher"]} {
		in := channelWorld{w, f}
		in.stored(wire.IntentNewClaim, memberOf("n1", a))
		in.stored(wire.IntentRenew, memberOf("n1", a, atRevision(2)))
		in.stored(wire.IntentNewClaim, memberOf("\x00\xff", a, inState(wire.StateDraining), func(m *member) { m.Endpoint, m.Weight = "é", 0 }))
	}
	v := w.view()
	rows := map[string]*kvstore.Row{
		"lease":             v.Row(domain.LeaseKey("owner-a")),
		"lease-renewed":     v.Row(domain.LeaseKey("b\x01é")),
		"mesh-node-minimal": v.Row(domain.MeshNodeKey("play", "n1")),
		"mesh-node-full":    v.Row(domain.MeshNodeKey("play", "\x00\xff")),

		"client-server-renewed":    v.Row(domain.ClientServerKey("match", "n1")),
		"client-server-raw-rid":    v.Row(domain.ClientServerKey("match", "\x00\xff")),
		"fanout-publisher-renewed": v.Row(domain.FanoutPublisherKey("match", "n1")),
		"fanout-publisher-raw-rid": v.Row(domain.FanoutPublisherKey("match", "\x00\xff")),
	}
	maps.Copy(rows, locationVectors(t))
	maps.Copy(rows, objectVectors(t))
	maps.Copy(rows, transferVectors(t))
	maps.Copy(rows, aggregateVectors(t))
	return rows
}

// TestVectors holds the encoding of every record still: stored rows outlive the
// program that wrote them.
func TestVectors(t *testing.T) {
	t.Parallel()
	for name, row := range vectors(t) {
		file := filepath.Join("testdata", "vectors", name+".txt")
		text := formatVector(row)
		if *update {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		onDisk, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(onDisk, text) {
			t.Errorf("%s: a rule stores\n%swant\n%s", file, text, onDisk)
		}
		body, err := decodeRow(parseVector(t, onDisk))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		wantHead(t, row, body)
		again, err := domain.EncodeRecord(body)
		if err != nil || !bytes.Equal(again, row.Value) {
			t.Errorf("%s: decoded and encoded again it is\n%x, %v", file, again, err)
		}
	}
}

// decoders decode the rows of each family.
var decoders = map[string]func(*kvstore.Row) (any, error){
	domain.FamilyLease:           domain.DecodeLease,
	domain.FamilyMeshNode:        decoder(domain.DecodeMeshNode),
	domain.FamilyClientServer:    decoder(domain.DecodeClientServer),
	domain.FamilyFanoutPublisher: decoder(domain.DecodeFanoutPublisher),
	domain.FamilyPeer:            decoder(domain.DecodePeer),
	domain.FamilySpot:            decoder(domain.DecodeSpot),
	domain.FamilyActor:           decoder(domain.DecodeActor),
	domain.FamilyRoute:           decoder(domain.DecodeRoute),
	domain.FamilyAuthority:       domain.DecodeAuthority,
	domain.FamilyTerminal:        decoder(domain.DecodeTerminal),
	domain.FamilyAbortMark:       decoder(domain.DecodeAbortMark),
	domain.FamilyTransfer:        decoder(domain.DecodeTransfer),
	domain.FamilyAggregate:       domain.DecodeAggregate,
	domain.FamilyInventory:       domain.DecodePage,
	domain.FamilyParticipant:     domain.DecodeStaged,
}

func decoder[R any](decode func(*kvstore.Row) (*R, error)) func(*kvstore.Row) (any, error) {
	return func(r *kvstore.Row) (any, error) { return decode(r) }
}

// decodeRow decodes a row of any family.
func decodeRow(r *kvstore.Row) (any, error) { return decoders[r.Key.Split(2)[0]](r) }

func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	rows := vectors(t)
	type edit = func(map[string]any)
	for name, tt := range map[string]struct {
		row    string
		value  func(value []byte) []byte // of the bytes, or
		body   edit                      // of the body
		change func(*kvstore.Row)        // of the rest of the row
	}{
		"nothing":                  {row: "lease", value: func([]byte) []byte { return nil }},
		"array alone":              {row: "lease", value: func([]byte) []byte { return []byte{0x82} }},
		"no body":                  {row: "lease", value: func(v []byte) []byte { return v[:2] }},
		"array of one":             {row: "lease", value: func(v []byte) []byte { return append([]byte{0x81}, v[1:]...) }},
		"newer record version":     {row: "mesh-node-full", value: func(v []byte) []byte { return append([]byte{0x82, 2}, v[2:]...) }},
		"body that is no map":      {row: "lease", value: func([]byte) []byte { return []byte{0x82, 1, 1} }},
		"cut short":                {row: "mesh-node-full", value: func(v []byte) []byte { return v[:len(v)-1] }},
		"bytes behind the body":    {row: "lease", value: func(v []byte) []byte { return append(bytes.Clone(v), 0) }},
		"unknown member":           {row: "lease", body: func(b map[string]any) { b["x"] = 1 }},
		"lease without generation": {row: "lease", body: func(b map[string]any) { delete(b, "leaseGeneration") }},
		"lease without owner":      {row: "lease", body: func(b map[string]any) { delete(b, "ownerId") }},
		"lease of another owner":   {row: "lease", body: func(b map[string]any) { b["ownerId"] = "owner-b" }},
		"lease of generation 0":    {row: "lease", body: func(b map[string]any) { b["leaseGeneration"] = 0 }},
		"lease from the future":    {row: "lease", body: func(b map[string]any) { b["leaseGeneration"] = 2 }},
		"lease without expiry":     {row: "lease", change: func(r *kvstore.Row) { r.Expiry = 0 }},
		"node of another mesh":     {row: "mesh-node-full", body: func(b map[string]any) { b["meshName"] = "lab" }},
		"node of another RID":      {row: "mesh-node-full", body: func(b map[string]any) { b["rid"] = "n1" }},
		"node under a lease's key": {row: "mesh-node-full", change: func(r *kvstore.Row) { r.Key = domain.LeaseKey("owner-a") }},
		"node without endpoint":    {row: "mesh-node-full", body: func(b map[string]any) { delete(b, "endpoint") }},
		"node without generation":  {row: "mesh-node-full", body: func(b map[string]any) { delete(b, "generation") }},
		"node without updatedAt":   {row: "mesh-node-full", body: func(b map[string]any) { delete(b, "updatedAt") }},
		"node from the future":     {row: "mesh-node-full", body: func(b map[string]any) { b["generation"] = 99 }},
		"unknown state":            {row: "mesh-node-full", body: func(b map[string]any) { b["state"] = "sleeping" }},
		"weight that is text":      {row: "mesh-node-full", body: func(b map[string]any) { b["placementWeight"] = "1" }},

		"server of another channel":    {row: "client-server-renewed", body: func(b map[string]any) { b["channelName"] = "chat" }},
		"server of another RID":        {row: "client-server-renewed", body: func(b map[string]any) { b["serverRid"] = "n2" }},
		"server under a node's key":    {row: "client-server-renewed", change: func(r *kvstore.Row) { r.Key = domain.MeshNodeKey("match", "n1") }},
		"server without weight":        {row: "client-server-renewed", body: func(b map[string]any) { delete(b, "weight") }},
		"server without generation":    {row: "client-server-renewed", body: func(b map[string]any) { delete(b, "generation") }},
		"server without updatedAt":     {row: "client-server-renewed", body: func(b map[string]any) { delete(b, "updatedAt") }},
		"server from the future":       {row: "client-server-renewed", body: func(b map[string]any) { b["generation"] = 99 }},
		"server with an entry spot":    {row: "client-server-renewed", body: func(b map[string]any) { b["entrySpotId"] = "e" }},
		"publisher under a server's":   {row: "fanout-publisher-renewed", change: func(r *kvstore.Row) { r.Key = domain.ClientServerKey("match", "n1") }},
		"publisher of another channel": {row: "fanout-publisher-renewed", body: func(b map[string]any) { b["channelName"] = "chat" }},
		"publisher of another RID":     {row: "fanout-publisher-renewed", body: func(b map[string]any) { b["publisherRid"] = "n2" }},
		"publisher with a weight":      {row: "fanout-publisher-renewed", body: func(b map[string]any) { b["weight"] = 1 }},
		"publisher from the future":    {row: "fanout-publisher-renewed", body: func(b map[string]any) { b["generation"] = 99 }},
		"publisher of no state":        {row: "fanout-publisher-renewed", body: func(b map[string]any) { b["state"] = "sleeping" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := rows[tt.row]
			row := kvstore.Row{Key: whole.Key, Value: whole.Value, Revision: whole.Revision, Expiry: whole.Expiry}
			switch {
			case tt.value != nil:
				row.Value = tt.value(row.Value)
			case tt.body != nil:
				body := maps.Clone(bodyOf(t, row.Value))
				tt.body(body)
				row.Value = recordOf(t, body)
			default:
				tt.change(&row)
			}
			_, err := decodeRow(&row)
			wantLost(t, err, row.Key)
		})
	}
}

func FuzzDecodeLease(f *testing.F) {
	fuzzDecode(f, "lease", kvstore.Prefix(domain.FamilyLease))
}

func FuzzDecodeMeshNode(f *testing.F) {
	fuzzDecode(f, "mesh-node", kvstore.Prefix(domain.FamilyMeshNode))
}

func FuzzDecodeClientServer(f *testing.F) {
	fuzzDecode(f, "client-server", kvstore.Prefix(domain.FamilyClientServer))
}

func FuzzDecodeFanoutPublisher(f *testing.F) {
	fuzzDecode(f, "fanout-publisher", kvstore.Prefix(domain.FamilyFanoutPublisher))
}

func FuzzDecodePeer(f *testing.F) {
	fuzzDecode(f, "peer", kvstore.Prefix(domain.FamilyPeer))
}

func FuzzDecodeSpot(f *testing.F) {
	fuzzDecode(f, "spot", kvstore.Prefix(domain.FamilySpot))
}

func FuzzDecodeActor(f *testing.F) {
	fuzzDecode(f, "actor", kvstore.Prefix(domain.FamilyActor))
}

func FuzzDecodeRoute(f *testing.F) {
	fuzzDecode(f, "route", kvstore.Prefix(domain.FamilyRoute))
}

// wantHead requires that indexes and stamps see what the rules see.
func wantHead(t tb, r *kvstore.Row, body any) {
	t.Helper()
	token, entrySpotID := domain.HeadOf(r)
	switch b := body.(type) {
	case domain.LeaseRecord:
		want(t, token, b.OwnerToken)
	case *wire.MeshNodeDescriptor:
		want(t, token, b.OwnerToken)
		want(t, entrySpotID, b.EntrySpotID)
	case *wire.ClientServerDescriptor:
		want(t, token, b.OwnerToken)
	case *wire.FanoutPublisherDescriptor:
		want(t, token, b.OwnerToken)
	case *wire.Peer:
		want(t, token, b.OwnerToken)
	case *wire.Spot:
		want(t, token, b.OwnerToken)
	case *wire.Actor:
		want(t, token, b.OwnerToken)
	case *wire.Route:
		want(t, token, b.OwnerToken)
	case domain.AuthorityRecord:
		wantAuthorityHead(t, r, b)
	}
}

// fuzzDecode feeds rows to a decoder and to the functions of the schema: they do
// not panic, what is refused is lost, and what is decoded is encoded to the same.
func fuzzDecode(f *testing.F, family string, prefix kvstore.Key) {
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", family+"*.txt"))
	if err != nil || len(files) == 0 {
		f.Fatalf("vectors %v: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		r := parseVector(f, text)
		f.Add(string(r.Key[len(prefix):]), r.Value, uint64(r.Revision), int64(r.Expiry))
	}
	schema := domain.Schema()
	f.Fuzz(func(t *testing.T, key string, value []byte, revision uint64, expiry int64) {
		r := &kvstore.Row{
			Key: prefix + kvstore.Key(key), Value: value,
			Revision: kvstore.Revision(revision), Expiry: kvstore.Instant(expiry),
		}
		schema.Derive(r)
		schema.Stamp(kvstore.Entry{Key: r.Key, Revision: r.Revision, Row: r})
		body, err := decodeRow(r)
		if err != nil {
			if !errors.As(err, new(*kvstore.DataLostError)) {
				t.Fatalf("error %v, want data lost", err)
			}
			return
		}
		wantHead(t, r, body)
		if r.Value, err = domain.EncodeRecord(body); err != nil {
			t.Fatal(err)
		}
		again, err := decodeRow(r)
		if err != nil {
			t.Fatal(err)
		}
		want(t, again, body)
	})
}
