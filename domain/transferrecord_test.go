package domain_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// transferVectors are rows of transfers by the names of their files, as the rules
// store them.
func transferVectors(t *testing.T) map[string]*kvstore.Row {
	w := newWorld(t)
	w.prepareTransfer(transferOf(1, func(t *wire.ActorTransfer) {
		t.ActorID, t.Source.ActorID, t.Target.ActorID = "user: é", "user: é", "user: é"
		t.ExpectedMembershipEpoch = math.MaxInt64
	}))
	w.inState(wire.TransferCommitted)
	w.at(30_000)
	w.takeOver(1, "rb")
	w.at(31_000)
	w.advance(domain.ActivateActorTransfer, 1, "rb")
	v := w.view()
	return map[string]*kvstore.Row{
		"transfer-prepared":  v.Row(domain.TransferKey("play", "user: é")),
		"transfer-activated": v.Row(domain.TransferKey("play", "a1")),
	}
}

func FuzzDecodeTransfer(f *testing.F) {
	fuzzDecode(f, "transfer", kvstore.Prefix(domain.FamilyTransfer))
}

func TestDamagedTransferRecords(t *testing.T) { // 1.5
	t.Parallel()
	rows := transferVectors(t)
	type edit = func(map[string]any)
	set := func(name string, value any) edit { return func(b map[string]any) { b[name] = value } }
	in := func(part, name string, value any) edit {
		return func(b map[string]any) { b[part].(map[any]any)[name] = value }
	}
	for name, tt := range map[string]struct {
		row    string
		body   edit
		change func(*kvstore.Row)
	}{
		"with something else":          {row: "transfer-prepared", body: set("ownerId", "a")},
		"of another mesh":              {row: "transfer-prepared", body: set("meshName", "lab")},
		"of another actor":             {row: "transfer-prepared", body: set("actorId", "a2")},
		"of no transfer":               {row: "transfer-prepared", body: set("transferId", "")},
		"transfer in upper case":       {row: "transfer-prepared", body: set("transferId", strings.ToUpper(transferID(1)))},
		"source of another actor":      {row: "transfer-prepared", body: in("source", "actorId", "a2")},
		"target of another actor":      {row: "transfer-prepared", body: in("target", "actorId", "a2")},
		"target of generation 0":       {row: "transfer-prepared", body: in("target", "objectGeneration", 0)},
		"of generation 0":              {row: "transfer-prepared", body: set("expectedActorGeneration", 0)},
		"of epoch 0":                   {row: "transfer-prepared", body: set("expectedMembershipEpoch", 0)},
		"of no participants":           {row: "transfer-prepared", body: set("participants", []any{})},
		"of a participant twice":       {row: "transfer-prepared", body: set("participants", []any{"n1", "n1"})},
		"of nobody":                    {row: "transfer-prepared", body: set("recoveryOwnerId", "")},
		"in an unknown state":          {row: "transfer-prepared", body: set("state", "moving")},
		"without a recovery lease":     {row: "transfer-prepared", body: set("recoveryLeaseExpiresAt", 0)},
		"never updated":                {row: "transfer-prepared", body: set("updatedAt", 0)},
		"finished, but without expiry": {row: "transfer-prepared", body: set("state", "aborted")},
		"active, but with expiry":      {row: "transfer-activated", body: set("state", "committed")},
		"finished without expiry":      {row: "transfer-activated", change: func(r *kvstore.Row) { r.Expiry = 0 }},
		"active with expiry":           {row: "transfer-prepared", change: func(r *kvstore.Row) { r.Expiry = 1 }},
		"under another's key":          {row: "transfer-activated", change: func(r *kvstore.Row) { r.Key = domain.TransferKey("play", "a2") }},
		"that is no record":            {row: "transfer-activated", change: func(r *kvstore.Row) { r.Value = nil }},
		"of a newer version":           {row: "transfer-activated", change: func(r *kvstore.Row) { r.Value[1] = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := rows[tt.row]
			row := &kvstore.Row{Key: whole.Key, Value: slices.Clone(whole.Value), Revision: whole.Revision, Expiry: whole.Expiry}
			if tt.change != nil {
				tt.change(row)
			} else {
				body := bodyOf(t, row.Value)
				tt.body(body)
				row.Value = recordOf(t, body)
			}
			_, err := decodeRow(row)
			wantLost(t, err, row.Key)
		})
	}
}

func TestDamagedTransferIsLostInEveryRuleOfIt(t *testing.T) { // 1.5
	t.Parallel()
	k := domain.TransferKey("play", "a1")
	rules := objectRules{
		"prepare":   rule(domain.PrepareActorTransfer, validTransfer()),
		"commit":    rule(domain.CommitActorTransfer, advanceRequest(1, "ra")),
		"activate":  rule(domain.ActivateActorTransfer, advanceRequest(1, "ra")),
		"abort":     rule(domain.AbortActorTransfer, advanceRequest(1, "ra")),
		"take-over": rule(domain.TakeOverActorTransfer, takeOverRequest(1, "rb", ttl)),
		"resolve":   look(domain.ResolveActorTransfer, &wire.ActorTransferResolveRequest{MeshName: "play", ActorID: "a1"}),
	}
	for how, makes := range spoiled() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for _, state := range slices.Concat(activeStates, finishedStates) {
				w := newWorld(t)
				w.inState(state)
				w.spoilRow(k, makes)
				w.wantLostIn(rules, k, "prepare", "commit", "activate", "abort", "take-over", "resolve")
				want(t, w.prepareTransfer(transferOf(2, func(t *wire.ActorTransfer) { t.MeshName = "lab" })).Status, wire.TransferStatusStored)
				_, err := w.eventsAndDamage() // nobody else minds
				want(t, err, nil)
			}
		})
	}
}
