package domain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// objectVectors are the rows of the creation of objects by the names of their files,
// as the rules store them.
func objectVectors(t *testing.T) map[string]*kvstore.Row {
	w := newWorld(t)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("\x00\xff", a, endpoint("tcp://n2:7000")))
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n1", a)
	w.changed("a1", putOf(toPhase(wire.PhaseClosing)))
	w.reserved("iroom: é", "\x00\xff", a)
	w.ready("r2", "\x00\xff", a)
	w.changed("r2", wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: wire.Bytes{}})
	created, raw := term(1), term(2)
	raw.Operation.SourceNodeRID, raw.Operation.OperationID.High = "\x00\xff", 1<<64-1
	raw.TerminalEnvelope, raw.TerminalEnvelopeSHA256 = wire.Bytes{}, digestOf("")
	w.complete(w.reserved("a2", "n1", a).complete(wire.CompletionCreated, created))
	w.complete(w.reserved("a3", "n1", a).complete(wire.CompletionRejected, raw))
	aborted := w.reserved("a4", "n1", a)
	want(t, w.abort(aborted.abort()), wire.KindAborted)
	v := w.view()
	return map[string]*kvstore.Row{
		"authority-member":       v.Row(domain.AuthorityKey(keyOf("a1"))),
		"authority-reserved":     v.Row(domain.AuthorityKey(keyOf("iroom: é"))),
		"authority-reincarnated": v.Row(domain.AuthorityKey(keyOf("r2"))),
		"terminal":               v.Row(domain.TerminalKey(created.Operation)),
		"terminal-raw-rid":       v.Row(domain.TerminalKey(raw.Operation)),
		"abort-mark":             v.Row(domain.AbortMarkKey(aborted.key, aborted.id)),
	}
}

// optionalMembers are the members of records that may be missing.
var optionalMembers = map[string][]string{
	"authority-member":       {"reservationId", "membership"},
	"authority-reserved":     {"allocation.capacity.spotType"},
	"authority-reincarnated": {"allocation.capacity.spotType"},
}

// TestRecordsWithoutAMember takes every member away in turn. 1.5
func TestRecordsWithoutAMember(t *testing.T) {
	t.Parallel()
	rows := objectVectors(t)
	maps.Copy(rows, transferVectors(t))
	for name, row := range rows {
		members := 0
		body := bodyOf(t, row.Value)
		eachMember(body, "", func(path string) {
			members++
			_, err := decodeRow(&kvstore.Row{Key: row.Key, Revision: row.Revision, Expiry: row.Expiry, Value: recordOf(t, body)})
			if slices.Contains(optionalMembers[name], path) {
				if err != nil {
					t.Errorf("%s without %s: %v", name, path, err)
				}
				return
			}
			if err == nil {
				t.Errorf("%s without %s can be decoded", name, path)
				return
			}
			wantLost(t, err, row.Key)
		})
		if members < 6 && name != "abort-mark" {
			t.Errorf("%s: only %d members", name, members)
		}
	}
}

// eachMember takes one member at a time out of a body and puts it back after fn.
func eachMember(body map[string]any, path string, fn func(path string)) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		at, value := joinPath(path, name), body[name]
		delete(body, name)
		fn(at)
		body[name] = value
		if within, ok := value.(map[any]any); ok {
			named := make(map[string]any, len(within))
			for k, v := range within {
				named[k.(string)] = v
			}
			body[name] = named
			eachMember(named, at, fn)
		}
	}
}

func TestDamagedObjectRecords(t *testing.T) { // 1.5
	t.Parallel()
	rows := objectVectors(t)
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
		"authority with something else":    {row: "authority-member", body: set("version", 1)},
		"authority of another id":          {row: "authority-member", body: set("globalId", "a2")},
		"authority of an empty id":         {row: "authority-member", body: set("globalId", "")},
		"authority of another sort":        {row: "authority-member", body: in("allocation", "objectKind", "userSpot")},
		"authority of an unknown kind":     {row: "authority-member", body: in("allocation", "objectKind", "entrySpot")},
		"authority in an unknown state":    {row: "authority-member", body: in("allocation", "state", "moving")},
		"authority of no type":             {row: "authority-member", body: in("allocation", "stableType", "")},
		"authority in an unknown phase":    {row: "authority-member", body: set("phase", "gone")},
		"authority from the future":        {row: "authority-member", body: set("objectGeneration", 99)},
		"owner from the future":            {row: "authority-member", body: set("authorityOwnerGeneration", 99)},
		"authority of generation 0":        {row: "authority-member", body: set("objectGeneration", 0)},
		"owner of generation 0":            {row: "authority-member", body: set("authorityOwnerGeneration", 0)},
		"authority of nobody":              {row: "authority-member", body: set("ownerId", "")},
		"authority of no lease":            {row: "authority-member", body: set("ownerLeaseGeneration", 0)},
		"payload that is text":             {row: "authority-member", body: set("payload", "ready")},
		"member of an unknown kind":        {row: "authority-member", body: in("membership", "spotKind", "instance")},
		"active with a pending creation":   {row: "authority-member", body: partOf(t, rows["authority-reserved"], "pendingCreation")},
		"reserved made active":             {row: "authority-reserved", body: in("allocation", "state", "active")},
		"active made reserved":             {row: "authority-member", body: in("allocation", "state", "reserved")},
		"reserved without reservation id":  {row: "authority-reserved", body: set("reservationId", "")},
		"spot with a membership":           {row: "authority-reincarnated", body: partOf(t, rows["authority-member"], "membership")},
		"authority under another's key":    {row: "authority-member", change: func(r *kvstore.Row) { r.Key = domain.AuthorityKey(keyOf("a2")) }},
		"actor under a spot's key":         {row: "authority-member", change: func(r *kvstore.Row) { r.Key = domain.AuthorityKey(keyOf("r1")) }},
		"authority of an earlier revision": {row: "authority-member", change: func(r *kvstore.Row) { r.Revision = 1 }},

		"terminal of another low":        {row: "terminal", body: operationWith("low", uint64(2))},
		"terminal of another high":       {row: "terminal", body: operationWith("high", uint64(2))},
		"terminal of another node":       {row: "terminal", body: in("operation", "sourceNodeRid", "n2")},
		"terminal of another life":       {row: "terminal", body: in("operation", "sourceNodeGeneration", uint64(2))},
		"terminal of an unknown outcome": {row: "terminal", body: set("state", "stale")},
		"terminal of an unknown kind":    {row: "terminal", body: set("objectKind", "spot")},
		"terminal of a spot":             {row: "terminal", body: set("objectKind", "userSpot")},
		"terminal of no reservation":     {row: "terminal", body: set("reservationId", "")},
		"another envelope":               {row: "terminal", body: set("terminalEnvelope", []byte("Done"))},
		"another digest":                 {row: "terminal", body: set("terminalEnvelopeSha256", make([]byte, 32))},
		"digest cut short":               {row: "terminal", body: set("terminalEnvelopeSha256", make([]byte, 31))},
		"terminal without expiry":        {row: "terminal", change: func(r *kvstore.Row) { r.Expiry = 0 }},
		"terminal with something else":   {row: "terminal-raw-rid", body: set("globalId", "a3")},
		"terminal under another's key":   {row: "terminal-raw-rid", change: func(r *kvstore.Row) { r.Key = domain.TerminalKey(term(2).Operation) }},

		"mark with something in it": {row: "abort-mark", body: set("globalId", "a4")},
		"mark without expiry":       {row: "abort-mark", change: func(r *kvstore.Row) { r.Expiry = 0 }},
		"mark that is no record":    {row: "abort-mark", change: func(r *kvstore.Row) { r.Value = nil }},
		"mark of a newer version":   {row: "abort-mark", change: func(r *kvstore.Row) { r.Value = []byte{0x82, 2, 0xa0} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := rows[tt.row]
			row := &kvstore.Row{Key: whole.Key, Value: whole.Value, Revision: whole.Revision, Expiry: whole.Expiry}
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

func operationWith(half string, n uint64) func(map[string]any) {
	return func(b map[string]any) { b["operation"].(map[any]any)["operationId"].(map[any]any)[half] = n }
}

// partOf gives a record a part of another.
func partOf(t tb, r *kvstore.Row, name string) func(map[string]any) {
	t.Helper()
	part, ok := bodyOf(t, r.Value)[name]
	if !ok {
		t.Fatalf("record %q without %s", string(r.Key), name)
	}
	return func(b map[string]any) { b[name] = part }
}

func FuzzDecodeTerminal(f *testing.F) {
	fuzzDecode(f, "terminal", kvstore.Prefix(domain.FamilyTerminal))
}
