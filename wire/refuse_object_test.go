package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

// misprint is a sample that is wrong in one place of its JSON.
type misprint struct {
	why, sample  string
	wrong, right string // right stands in the sample, once at least; wrong replaces the first
	field        string // the field to blame
	want         string // part of the text
}

func TestUnmarshalRefusesObjectRequests(t *testing.T) {
	t.Parallel()
	const (
		actor  = `{"kind":"actor","globalId":"user:42"}`
		joined = `{"spotId":"r1","spotGeneration":"44","spotKind":"user"}`
		token  = `{"ownerId":"owner-a","leaseGeneration":"42"}`
		node   = `{"rid":"n2","lifecycleGeneration":"7"}`

		read, put, del    = "authority.read", "authority.compare-exchange-put", "authority.compare-exchange-delete"
		reserve, complete = "object.reserve", "object.complete-creation-failed"
	)
	for _, m := range []misprint{
		{"no key", read, ``, `"key":` + actor, "key", "missing or empty, want a map or its text form"},
		{"key is null", read, `null`, actor, "key", "missing or empty, want a map or its text form"},
		{"key is a number", read, `7`, actor, "key", `got "a number"`},
		{"key is a list", read, `["zla1:a:1:x"]`, actor, "key", `got "an array"`},
		{"key is an empty map", read, `{}`, actor, "key.kind", "missing"},
		{"key is empty text", read, `""`, actor, "key", "missing or empty, want zla1:"},
		{"key without an id", read, ``, `,"globalId":"user:42"`, "key.globalId", "missing"},
		{"key with a mesh", read, `{"meshName":"play",`, `{"kind":"actor",`, "key.meshName", "only fields"},
		{"key of kind spot", read, `"spot"`, `"actor"`, "key.kind", "want one of actor, userSpot, instanceSpot"},
		{"key as text in a map", read, `{"text":"zla1:a:1:x"}`, actor, "key.text", "only fields"},
		{"key twice", read, `{"key":"zla1:a:1:x","key"`, `{"key"`, "key", "it once"},
		{"text for a request", read, `"zla1:a:1:x"`, `{"key":` + actor + `}`, "payload", `got "text", want a map`},
		{"text for an intent", reserve, `"intent":"zla1:s:2:r1","x":{`, `"intent":{`, "intent", `got "text", want a map`},
		{"text for a target", reserve, `"target":"zla1:s:2:r1","x":{`, `"target":{`, "target", `got "text", want a map`},
		{"text for a membership", put, `"zla1:s:2:r1"`, joined, "mutation.membership", `got "text", want a map`},
		{"text for an exclusion", "object.place", `"n2"`, node, "exclude[0]", `got "text", want a map`},
		{"map for a prefix", "authority.list", actor, `"zla1:a:"`, "prefix", `got "a map", want text`},
		{"no prefix", "authority.list", ``, `"prefix":"zla1:a:",`, "prefix", "missing"},
		{"no limit", "authority.list", ``, `,"limit":1000`, "limit", "missing"},
		{"empty cursor", "authority.list", `""`, `"c"`, "cursor", "leave it out instead"},

		{"membership is empty (A-09)", put, `{}`, joined, "mutation.membership.spotId", "missing"},
		{"membership without a spot", put, ``, `"spotId":"r1",`, "mutation.membership.spotId", "missing"},
		{"membership without a generation", put, ``, `"spotGeneration":"44",`, "mutation.membership.spotGeneration", "missing"},
		{"membership without a kind", put, ``, `,"spotKind":"user"`, "mutation.membership.spotKind", "missing"},
		{"membership in an instance spot", put, `"instance"`, `"user"`, "mutation.membership.spotKind", "want one of entry, user"},
		{"membership with a mesh", put, `{"meshName":"play","spotId"`, `{"spotId"`, "mutation.membership.meshName", "only fields"},
		{"mutation without a kind", put, ``, `"kind":"put",`, "mutation.kind", "missing"},
		{"unknown mutation", put, `"patch"`, `"put"`, "mutation.kind", "want one of put, rebindOwnerLease, restore, reincarnate, delete"},
		{"unknown transition", put, `"advance"`, `"preserve"`, "mutation.generationTransition", "want one of preserve"},
		{"unknown phase", put, `"gone"`, `"closing"`, "mutation.phase", "want one of steady, closing, recovering"},
		{"version within the mutation", del, `{"storeVersion":"45","kind":"delete"`, `{"kind":"delete"`, "mutation.storeVersion", "only fields"},
		{"no version", del, ``, `"expectedStoreVersion":"45",`, "expectedStoreVersion", "missing"},
		{"no mutation", del, ``, `,"mutation":{"kind":"delete"}`, "mutation", "missing"},
		{"expected owner is empty", "authority.compare-exchange-restore", `{}`, token, "mutation.expectedOwner.ownerId", "missing"},
		{"target owner is a target", "authority.compare-exchange-rebind", `"targetOwner":{"nodeRid":"n1",`, `"targetOwner":{`, "mutation.targetOwner.nodeRid", "only fields"},

		{"intent under another name", reserve, `"intention":`, `"intent":`, "intention", "only fields"},
		{"intent without a type", reserve, `{"requestC`, `{"stableType":"room","requestC`, "intent.stableType", "missing"},
		{"digest in another case", reserve, `"requestSHA256":`, `"requestSha256":`, "intent.requestSHA256", "only fields"},
		{"negative size", reserve, `-1`, `1048576`, "intent.requestEncodedSize", "want an integer 0..4294967295"},
		{"target with the fields of a token", reserve, `"ownerId":"owner-a","owner":{`, `"owner":{`, "target.ownerId", "only fields"},
		{"target without a generation", reserve, ``, `"nodeLifecycleGeneration":"7",`, "target.nodeLifecycleGeneration", "missing"},
		{"owner without a lease", reserve, ``, `,"leaseGeneration":"42"`, "target.owner.leaseGeneration", "missing"},
		{"capacity without spots", reserve, ``, `"spots":1,`, "capacity.spots", "missing"},
		{"negative capacity", reserve, `"spots":-1`, `"spots":1`, "capacity.spots", "want an integer 0..4294967295"},
		{"spot type without a count", reserve, ``, `,"count":1`, "capacity.spotType.count", "missing"},
		{"spot type of actors", reserve, `"spotType":{"objectKind":"actor"`, `"spotType":{"objectKind":"userSpot"`, "capacity.spotType.objectKind", "want one of userSpot, instanceSpot"},
		{"several spot types", reserve, `"spotTypes":`, `"spotType":`, "capacity.spotTypes", "only fields"},
		{"no creating payload", "object.reserve-least", ``, `"creatingPayload":"",`, "creatingPayload", "missing"},
		{"empty reservation id", reserve, `""`, `"` + sampleReservation + `"`, "reservationId", "leave it out instead"},
		{"unknown policy", reserve, `"replace"`, `"release"`, "endedOwner", "want one of keep, release"},
		{"place at a target", "object.place", `"target":{},"meshName"`, `"meshName"`, "target", "only fields"},
		{"place without a mesh", "object.place", ``, `"meshName":"play",`, "meshName", "missing"},
		{"exclusion without a generation", "object.place", `{"rid":"n2"}`, node, "exclude[0].lifecycleGeneration", "missing"},
		{"exclusion under another name", "placement.select", `"nodeRid":{"hex"`, `"rid":{"hex"`, "exclude[1].nodeRid", "only fields"},
		{"selection without a capacity", "placement.select-least", ``, `,"capacity":{"actors":1,"spots":0}`, "capacity", "missing"},

		{"commit with a membership (C-04)", "object.commit", `"membership":` + joined + `,"readyPayload"`, `"readyPayload"`, "membership", "only fields"},
		{"commit without a reservation", "object.commit", ``, `"reservationId":"` + sampleReservation + `",`, "reservationId", "missing"},
		{"abort with a payload", "object.abort", `"readyPayload":"","target"`, `"target"`, "readyPayload", "only fields"},
		{"release of a reservation", "object.release-ended", `"reservationId":"a","expectedStoreVersion"`, `"expectedStoreVersion"`, "reservationId", "only fields"},
		{"completion without a kind", "object.complete-creation-created", ``, `"kind":"created",`, "completion.kind", "missing"},
		{"unknown completion", complete, `"cancelled"`, `"failed"`, "completion.kind", "want one of created, rejected, failed"},
		{"completion without a terminal", complete, `"record":{`, `"terminal":{`, "completion.record", "only fields"},
		{"empty membership of a new actor", "object.complete-creation-created", `{}`, joined, "completion.membership.spotId", "missing"},
		{"terminal without a deadline", complete, ``, `,"operationDeadline":1783036810000`, "completion.terminal.operationDeadline", "missing"},
		{"terminal with an expiry", complete, `"expiresAt":`, `"operationDeadline":`, "completion.terminal.expiresAt", "only fields"},
		{"half an operation id", complete, ``, `,"low":"1"`, "completion.terminal.operation.operationId.low", "missing"},
		{"operation without an id", "object.read-terminal", ``, `,"operationId":{"high":"18446744073709551615","low":"1"}`, "operation.operationId", "missing"},
		{"operation id beyond 64 bits", "object.read-terminal", `"18446744073709551616"`, `"18446744073709551615"`, "operation.operationId.high", "decimal string"},

		{"find an instance spot", "object.find", `"instanceSpot"`, `"spot"`, "kind", "want one of actor, spot"},
		{"list all spots", "object.list", `"spot"`, `"instanceSpot"`, "objectKind", "want one of actor, userSpot, instanceSpot"},
		{"list of any type", "object.list", `""`, `"chat"`, "stableType", "leave it out instead"},
		{"unknown condition", "object.await", `"deleted"`, `"changed"`, "until", "want one of settled, changed"},
		{"empty version", "object.await", `""`, `"44"`, "sinceVersion", "leave it out instead"},
	} {
		t.Run(m.why, func(t *testing.T) {
			t.Parallel()
			m.check(t)
		})
	}
}

func (m misprint) check(t *testing.T) {
	t.Helper()
	message := sampleNamed(t, m.sample)
	data, err := wire.Marshal(wire.JSON, message)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(m.right)) {
		t.Fatalf("%s does not hold %s", data, m.right)
	}
	data = bytes.Replace(data, []byte(m.right), []byte(m.wrong), 1)
	err = wire.Unmarshal(wire.JSON, data, reflect.New(reflect.TypeOf(message).Elem()).Interface())
	invalid, ok := errors.AsType[*wire.InvalidError](err)
	if !ok {
		t.Fatalf("%s: got %v, want an InvalidError", data, err)
	}
	if invalid.Field != m.field || !strings.Contains(err.Error(), m.want) {
		t.Errorf("got %v, want field %q and %q", err, m.field, m.want)
	}
}

// sampleNamed returns the message of a sample.
func sampleNamed(t *testing.T, name string) any {
	t.Helper()
	for _, s := range samples() {
		if s.name == name {
			return s.message
		}
	}
	t.Fatalf("no sample %s", name)
	return nil
}
