package domain_test

import (
	"maps"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// aggregateVectors are rows of aggregates by the names of their files, as the rules store
// them.
func aggregateVectors(t *testing.T) map[string]*kvstore.Row {
	w, a, b := creationWorld(t)
	r1 := w.ready("r1", "n1", a)
	a1 := w.ready("a1", "n1", a)
	all := inKeyOrder(takesPart(r1), takesPart(a1, preserved, into(w.membershipIn("r1"))))
	f := wire.Fence{AggregateID: "group: é", AggregateGeneration: 1<<63 - 1}
	at := func() *kvstore.Row { return w.view().Row(domain.AggregateKey(f)) }
	w.stage(f, 0, all)
	rows := map[string]*kvstore.Row{"aggregate-collecting": at()}
	for r := range w.view().Scan(kvstore.Prefix(domain.FamilyInventory), "") {
		rows["inventory"] = r
	}
	for r := range w.view().Scan(kvstore.Prefix(domain.FamilyParticipant), "") {
		rows["participant"] = r // the last one, the room
		if _, ok := rows["participant-membership"]; !ok {
			rows["participant-membership"] = r
		}
	}
	w.prepared(prepareRequest(f, tgt("n2", b), rooms(1), nil, counted(2)))
	rows["aggregate-prepared"] = at()
	want(t, w.commitAggregate(f), wire.KindCommitted)
	rows["aggregate-committed"] = at()
	w.work()
	rows["aggregate-cleaned"] = at()
	rows["authority-settled"] = w.view().Row(authorityKey("a1"))
	w.stage(fence("over"), 0, inKeyOrder(takesPart(w.ready("r2", "n1", a))))
	want(t, w.abortAggregate(fence("over")), wire.KindAborted)
	rows["aggregate-aborted"] = w.view().Row(domain.AggregateKey(fence("over")))
	return rows
}

func FuzzDecodeAggregate(f *testing.F) {
	fuzzDecode(f, "aggregate", kvstore.Prefix(domain.FamilyAggregate))
}

func FuzzDecodeInventory(f *testing.F) {
	fuzzDecode(f, "inventory", kvstore.Prefix(domain.FamilyInventory))
}

func FuzzDecodeParticipant(f *testing.F) {
	fuzzDecode(f, "participant", kvstore.Prefix(domain.FamilyParticipant))
}

func TestDamagedAggregateRecords(t *testing.T) { // 1.5
	t.Parallel()
	rows := aggregateVectors(t)
	type edit = func(map[string]any)
	set := func(name string, value any) edit { return func(b map[string]any) { b[name] = value } }
	without := func(name string) edit { return func(b map[string]any) { delete(b, name) } }
	for name, tt := range map[string]struct {
		row    string
		body   edit
		change func(*kvstore.Row)
	}{
		"of another fence":             {row: "aggregate-prepared", body: set("aggregateId", "other")},
		"of another generation":        {row: "aggregate-prepared", body: set("aggregateGeneration", 1)},
		"of an unknown state":          {row: "aggregate-prepared", body: set("state", "frozen")},
		"prepared without a request":   {row: "aggregate-prepared", body: without("request")},
		"prepared without a deadline":  {row: "aggregate-prepared", body: without("deadline")},
		"prepared and cleaned":         {row: "aggregate-prepared", body: set("cleaned", true)},
		"collecting with a request":    {row: "aggregate-prepared", body: set("state", "collecting")},
		"committed with a deadline":    {row: "aggregate-committed", body: set("deadline", 1)},
		"committed at no revision":     {row: "aggregate-committed", body: without("commit")},
		"committed in the future":      {row: "aggregate-committed", body: set("commit", 1_000_000)},
		"aborted at a revision":        {row: "aggregate-aborted", body: set("commit", 1)},
		"cleaned for ever":             {row: "aggregate-cleaned", change: func(r *kvstore.Row) { r.Expiry = 0 }},
		"committed until it expires":   {row: "aggregate-committed", change: func(r *kvstore.Row) { r.Expiry = 1 }},
		"with something else":          {row: "aggregate-committed", body: set("owner", "a")},
		"page without its digest":      {row: "inventory", body: set("sha256", make([]byte, 32))},
		"page without entries":         {row: "inventory", body: set("entries", []byte{})},
		"page at another place":        {row: "inventory", change: func(r *kvstore.Row) { r.Key = r.Key[:len(r.Key)-1] + "7" }},
		"participant without its key":  {row: "participant", body: without("authorityKey")},
		"participant with an owner":    {row: "participant", body: set("ownerId", "a")},
		"settled from the future":      {row: "authority-settled", body: set("visibleRevision", 1_000_000)},
		"settled for text":             {row: "authority-settled", body: set("visibleRevision", "1")},
		"participant that does what":   {row: "participant", body: set("ownerTransition", "swap")},
		"participant without a change": {row: "participant", body: without("authorityPayload")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := rows[tt.row]
			row := kvstore.Row{Key: whole.Key, Value: whole.Value, Revision: whole.Revision, Expiry: whole.Expiry}
			if tt.change != nil {
				tt.change(&row)
			} else {
				body := maps.Clone(bodyOf(t, row.Value))
				tt.body(body)
				row.Value = recordOf(t, body)
			}
			_, err := decodeRow(&row)
			wantLost(t, err, row.Key)
		})
	}
}
