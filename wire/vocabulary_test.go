package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

func TestCodeStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[wire.Code]int{
		"invalidArgument": 400, "forbidden": 403, "deadlineExceeded": 408, "scanExpired": 410, "tooLarge": 413, "overloaded": 429,
		"internal": 500, "dataLost": 500, "unavailable": 503, "outcomeUnknown": 503, "noSuchCode": 500,
	} {
		if got := code.Status(); got != want {
			t.Errorf("status of %s is %d, want %d", code, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`invalid weight: got "10001", want 0..10000`:           &wire.InvalidError{Field: "weight", Got: "10001", Want: "0..10000"},
		`invalid ownerId: missing or empty, want 1..255 bytes`: &wire.InvalidError{Field: "ownerId", Want: "1..255 bytes"},
		`invalid a: got "x\ny", want text`:                     &wire.InvalidError{Field: "a", Got: "x\ny", Want: "text"},
		`invalid a: got "` + strings.Repeat("é", 32) + `"..., want text`: &wire.InvalidError{
			Field: "a", Got: strings.Repeat("é", 100), Want: "text",
		},
		`invalid a: got "` + strings.Repeat("é", 31) + `x"..., want text`: &wire.InvalidError{
			Field: "a", Got: strings.Repeat("é", 31) + "x" + strings.Repeat("é", 9), Want: "text",
		},
		`value too large: got 1048577, want at most 1048576`: &wire.TooLargeError{Field: "value", Limit: 1048576, Got: 1048577},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEnumsAreDistinct(t *testing.T) {
	t.Parallel()
	for name, enum := range map[string]wire.Enum{
		"Kind": wire.Kind(""), "Intent": wire.Intent(""), "UpdateStatus": wire.UpdateStatus(""), "ObjectRole": wire.ObjectRole(""),
		"NodeState": wire.NodeState(""), "ObjectKind": wire.ObjectKind(""), "SpotObjectKind": wire.SpotObjectKind(""),
		"RelocationPolicy": wire.RelocationPolicy(""), "StampKind": wire.StampKind(""), "TopologyState": wire.TopologyState(""),
		"ConditionKind": wire.ConditionKind(""), "MutationKind": wire.MutationKind(""), "EventKind": wire.EventKind(""),
		"ChangeType": wire.ChangeType(""), "AutoConnectType": wire.AutoConnectType(""), "PeerRole": wire.PeerRole(""),
		"SpotKind": wire.SpotKind(""), "RouteKind": wire.RouteKind(""),
		"AllocationState": wire.AllocationState(""), "Phase": wire.Phase(""), "MembershipKind": wire.MembershipKind(""),
		"AuthorityMutationKind": wire.AuthorityMutationKind(""), "GenerationTransition": wire.GenerationTransition(""),
		"Reason": wire.Reason(""), "EndedOwner": wire.EndedOwner(""), "LookupKind": wire.LookupKind(""),
		"EntryState": wire.EntryState(""), "AwaitCondition": wire.AwaitCondition(""), "CompletionKind": wire.CompletionKind(""),
		"ActorTransferState": wire.ActorTransferState(""), "ActorTransferStatus": wire.ActorTransferStatus(""),
		"OwnerTransition": wire.OwnerTransition(""), "AggregateState": wire.AggregateState(""),
	} {
		seen := map[string]bool{"": true}
		for _, value := range enum.Values() {
			if seen[value] {
				t.Errorf("%s has %q twice or empty", name, value)
			}
			seen[value] = true
			if !valid(enum, value) {
				t.Errorf("%s(%q) is not valid", name, value)
			}
		}
		for _, other := range []string{"", "no such value", enum.Values()[0] + " "} {
			if valid(enum, other) {
				t.Errorf("%s(%q) is valid", name, other)
			}
		}
	}
}

// valid tells whether the type of enum takes the text for one of its values.
func valid(enum wire.Enum, text string) bool {
	v := reflect.New(reflect.TypeOf(enum)).Elem()
	v.SetString(text)
	return v.Interface().(interface{ Valid() bool }).Valid()
}
