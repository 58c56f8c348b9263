package handlers_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// transferID is the n-th id of a transfer.
func transferID(n int) string { return fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", n) }

// transferOf asks for the n-th transfer of an actor of "play", from n1 to n2.
func transferOf(n int, actor string) object {
	ref := func(rid any, generation uint64) object {
		return object{"actorId": actor, "objectGeneration": generation, "meshName": "play", "nodeRid": rid}
	}
	return object{
		"meshName": "play", "actorId": actor, "transferId": transferID(n),
		"source": ref("n1", 3), "target": ref("n2", 4), "expectedActorGeneration": uint64(3), "expectedMembershipEpoch": uint64(5),
		"participants": []any{"n1", "n2"}, "recoveryOwnerId": "ra", "recoveryLeaseTtlMs": 30000,
	}
}

// stepOf takes the n-th transfer of an actor further.
func stepOf(n int, actor, owner string) object {
	return object{"meshName": "play", "actorId": actor, "transferId": transferID(n), "recoveryOwnerId": owner}
}

func takeOverOf(n int, actor, successor string) object {
	return object{
		"meshName": "play", "actorId": actor, "transferId": transferID(n), "successorOwnerId": successor, "recoveryLeaseTtlMs": 30000,
	}
}

// inWords is a value of a reply as text; numbers of JSON are whole.
func inWords(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// TestTransferOperations lets a client in each encoding hand an actor over, and another one half way to a successor.
func TestTransferOperations(t *testing.T) { // F-01 to F-03
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			ask := func(verb string, request, want object) object {
				t.Helper()
				payload, err := d.encode(request)
				if err != nil {
					t.Fatal(err)
				}
				got := f.call(subjects.Operation("actor-transfer."+verb), string(payload), headers{"Content-Type": d.contentType}).fields()
				for path, value := range want {
					part, name := got, path
					if field, within := strings.CutPrefix(path, "record."); within {
						part, _ = got["record"].(object)
						name = field
					}
					if diff := cmp.Diff(fmt.Sprint(value), inWords(part[name])); diff != "" {
						t.Errorf("%s: %s (-want +got): %s in %v", verb, path, diff, got)
					}
				}
				return got
			}
			status := func(s string) object { return object{"status": s} }
			found := object{"meshName": "play", "actorId": "a1"}
			ask("resolve", found, object{"kind": "missing", "record": nil, "storeNow": nil})
			prepared := ask("prepare", transferOf(1, "a1"), object{
				"status": "stored", "record.state": "prepared", "record.transferId": transferID(1), "record.participants": "[n1 n2]",
				"record.expectedActorGeneration": 3, "record.expectedMembershipEpoch": 5, "record.recoveryOwnerId": "ra",
				"record.recoveryLeaseExpiresAt": testT0 + 30_000, "record.updatedAt": testT0, "record.recoveryLeaseTtlMs": nil,
			})
			unchanged := f.unchanged()
			f.clock.Advance(time.Second)
			if diff := cmp.Diff(prepared, ask("prepare", transferOf(1, "a1"), nil)); diff != "" {
				t.Errorf("prepared again (-first +second):\n%s", diff)
			}
			ask("prepare", transferOf(2, "a1"), object{"status": "rejectedConflict", "record.transferId": transferID(1)})
			ask("commit", stepOf(1, "a1", "rb"), object{"status": "rejectedConflict", "record.state": "prepared"})
			ask("commit", stepOf(9, "a1", "ra"), object{"status": "notFound", "record": nil})
			unchanged()
			ask("commit", stepOf(1, "a1", "ra"), object{"status": "stored", "record.state": "committed", "record.updatedAt": testT0 + 1_000})
			ask("abort", stepOf(1, "a1", "ra"), object{"status": "invalidState", "record.state": "committed"})
			ask("resolve", found, object{"kind": "found", "record.state": "committed", "record.target": prepared["record"].(object)["target"]})
			ask("activate", stepOf(1, "a1", "ra"), object{"status": "stored", "record.state": "activated"})
			ask("resolve", found, object{"kind": "missing"})

			ask("prepare", transferOf(1, "a2"), status("stored"))
			f.clock.Advance(29_999 * time.Millisecond)
			ask("take-over", takeOverOf(1, "a2", "rb"), status("rejectedConflict"))
			f.clock.Advance(time.Millisecond)
			ask("take-over", takeOverOf(1, "a2", "rb"), object{
				"status": "stored", "record.recoveryOwnerId": "rb", "record.recoveryLeaseExpiresAt": testT0 + 61_000,
			})
			ask("commit", stepOf(1, "a2", "ra"), status("rejectedConflict"))
			ask("abort", stepOf(1, "a2", "rb"), status("stored"))
			ask("take-over", takeOverOf(1, "a2", "rc"), object{"status": "invalidState", "record.state": "aborted"})
			f.clock.Advance(300 * time.Second)
			ask("take-over", takeOverOf(1, "a2", "rc"), object{"status": "notFound", "record": nil})
		})
	}
}

// TestBadTransfersAreNamed has one request of each kind of fault; the full tables are the domain's.
func TestBadTransfersAreNamed(t *testing.T) { // 1.6, 9, F-03
	t.Parallel()
	f := start(t, nil)
	unchanged := f.unchanged()
	large := make([]any, 4100)
	for i := range large {
		large[i] = fmt.Sprintf("%0255d", i)
	}
	otherActor := transferOf(1, "a2")["source"]
	upper := strings.ToUpper(transferID(1))
	for _, c := range []struct {
		op            subjects.Operation
		request, edit object
		code          wire.Code
		field         string
	}{
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"transferId": upper}, wire.CodeInvalidArgument, "transferId"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"source": otherActor}, wire.CodeInvalidArgument, "source.actorId"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"participants": []any{}}, wire.CodeInvalidArgument, "participants"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"participants": []any{"n1", object{"hex": "6e31"}}}, wire.CodeInvalidArgument, "participants[1]"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"participants": large}, wire.CodeTooLarge, "participants"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"recoveryLeaseTtlMs": 0}, wire.CodeInvalidArgument, "recoveryLeaseTtlMs"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"expectedMembershipEpoch": uint64(0)}, wire.CodeInvalidArgument, "expectedMembershipEpoch"},
		{subjects.ActorTransferPrepare, transferOf(1, "a1"), object{"state": "prepared"}, wire.CodeInvalidArgument, "state"},
		{subjects.ActorTransferCommit, stepOf(1, "a1", "ra"), object{"transferId": upper}, wire.CodeInvalidArgument, "transferId"},
		{subjects.ActorTransferActivate, stepOf(1, "a1", "ra"), object{"recoveryOwnerId": ""}, wire.CodeInvalidArgument, "recoveryOwnerId"},
		{subjects.ActorTransferAbort, stepOf(1, "a1", "ra"), object{"meshName": ""}, wire.CodeInvalidArgument, "meshName"},
		{subjects.ActorTransferTakeOver, takeOverOf(1, "a1", "rb"), object{"successorOwnerId": ""}, wire.CodeInvalidArgument, "successorOwnerId"},
		{subjects.ActorTransferTakeOver, takeOverOf(1, "a1", "rb"), object{"recoveryOwnerId": "ra"}, wire.CodeInvalidArgument, "recoveryOwnerId"},
		{subjects.ActorTransferResolve, object{"meshName": "play"}, object{"actorId": ""}, wire.CodeInvalidArgument, "actorId"},
	} {
		maps.Copy(c.request, c.edit)
		payload, err := dialects[0].encode(c.request)
		if err != nil {
			t.Fatal(err)
		}
		f.call(c.op, string(payload), nil).refused(c.code, c.field)
	}
	unchanged()
}

// TestTransferGoesOneWay: of those who commit and abort a transfer at once through two instances, one is answered stored, and both
// instances show what it did. 9
func TestTransferGoesOneWay(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		send := func(i int, op subjects.Operation, request object) *wire.ActorTransferReply {
			payload, err := dialects[0].encode(request)
			if err != nil {
				t.Error(err)
			}
			return resultOf[wire.ActorTransferReply](p.send(subjects.DefaultPrefix.Instance(pairIDs[i%2], op), payload, nil))
		}
		for round := range 10 {
			actor := fmt.Sprintf("a%d", round)
			ends := []subjects.Operation{subjects.ActorTransferCommit, subjects.ActorTransferAbort}
			prepared := race(8, func(i int) string {
				return string(send(i, subjects.ActorTransferPrepare, transferOf(i/2, actor)).Status)
			})
			if diff := cmp.Diff(map[string]int{"stored": 2, "rejectedConflict": 6}, prepared); diff != "" {
				t.Fatalf("round %d: prepared (-want +got):\n%s", round, diff)
			}
			resolve := &wire.ActorTransferResolveRequest{MeshName: "play", ActorID: actor}
			winner := resultOf[wire.ActorTransferResolveReply](p.to(0, subjects.ActorTransferResolve, resolve)).Record
			request := object{"meshName": "play", "actorId": actor, "transferId": winner.TransferID, "recoveryOwnerId": "ra"}
			ended := race(8, func(i int) string {
				op := ends[i/2%2]
				return string(op) + " " + string(send(i, op, request).Status)
			})
			committed, aborted := ended["actor-transfer.commit stored"], ended["actor-transfer.abort stored"]
			if committed+aborted != 1 {
				t.Fatalf("round %d: ended %v, want one stored", round, ended)
			}
			want := map[int]wire.Kind{0: wire.KindMissing, 1: wire.KindFound}[committed]
			for i := range pairIDs {
				text := payload(t, resolve)
				reply := p.send(subjects.DefaultPrefix.Instance(pairIDs[i], subjects.ActorTransferResolve), []byte(text), lately)
				if got := resultOf[wire.ActorTransferResolveReply](reply); got.Kind != want {
					t.Errorf("round %d, instance %d: %+v, want %s", round, i, got, want)
				}
			}
		}
	})
}

// TestTransfersAreNotPushed: the only events are those of what is stored around them. 13
func TestTransfersAreNotPushed(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one")
	d.claim("a")
	send := func(op subjects.Operation, request object) {
		t.Helper()
		payload, err := dialects[0].encode(request)
		if err != nil {
			t.Fatal(err)
		}
		d.call(op, string(payload), nil).want(map[string]string{"status": "stored"})
	}
	send(subjects.ActorTransferPrepare, transferOf(1, "a1"))
	send(subjects.ActorTransferAbort, stepOf(1, "a1", "ra"))
	d.claim("b")
	testenv.Eventually(t, patience, func() bool { return len(d.changes()) > 1 }, "events of the leases")
	want := []string{`upserted owner-lease owner "a"`, `upserted owner-lease owner "b"`}
	if diff := cmp.Diff(want, d.whats(d.pushed())); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
