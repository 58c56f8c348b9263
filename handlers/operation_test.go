package handlers_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/subjects"
)

// dialect is an encoding as a client without our library speaks it.
type dialect struct {
	name        string
	contentType string
	encode      func(any) ([]byte, error)
	// number is how a u64 stands in a decoded reply.
	number func(any) (uint64, error)
}

var dialects = []dialect{
	{
		"JSON", "application/json",
		func(v any) ([]byte, error) { return json.Marshal(decimal(v)) },
		func(v any) (uint64, error) { return strconv.ParseUint(fmt.Sprint(v), 10, 64) },
	},
	{
		"CBOR", "application/cbor",
		cbor.Marshal,
		func(v any) (uint64, error) {
			n, ok := v.(uint64)
			if !ok {
				return 0, fmt.Errorf("%T, want an unsigned integer", v)
			}
			return n, nil
		},
	},
}

// decimal writes every uint64 within v as decimal text, as the protocol's JSON does.
func decimal(v any) any {
	switch v := v.(type) {
	case uint64:
		return strconv.FormatUint(v, 10)
	case object:
		out := make(object, len(v))
		for name, field := range v {
			out[name] = decimal(field)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = decimal(v[i])
		}
		return out
	default:
		return v
	}
}

// object is a map of the protocol.
type object = map[string]any

// descriptor is a mesh-node descriptor of mesh "play" with all its required fields.
func descriptor(rid string, owner string, leaseGeneration, revision uint64) object {
	limit := object{"limit": 0}
	return object{
		"meshName": "play", "rid": rid, "lifecycleGeneration": uint64(7), "descriptorRevision": revision,
		"endpoint": "tcp://" + rid + ":7000", "objectRole": "server", "placementWeight": 100,
		"populationCapacity":    object{"actors": limit, "spots": limit, "spotTypes": []any{}},
		"activationConcurrency": object{"active": 0, "limit": 8}, "channelWeights": object{},
		"applicationVersion": uint64(1), "spotTypes": []any{}, "objectCapabilities": []any{}, "state": "serving",
		"securityIdentity": "s", "ownerId": owner, "leaseGeneration": leaseGeneration,
	}
}

// TestOperations lets a client in each encoding go through the operations, in one story. Those of channel descriptors and of
// location rows have stories of their own.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			ask := func(op subjects.Operation, request object) object {
				t.Helper()
				payload, err := d.encode(request)
				if err != nil {
					t.Fatal(err)
				}
				reply := f.call(op, string(payload), headers{"Content-Type": d.contentType})
				if got := reply.Header.Get("Content-Type"); got != d.contentType {
					t.Fatalf("%s: content type %q", op, got)
				}
				if got, want := reply.revision(), fmt.Sprint(f.store.Status().Revision); got != want {
					t.Errorf("%s: revision %s, want %s", op, got, want)
				}
				return reply.fields()
			}
			number := func(v any) uint64 {
				t.Helper()
				n, err := d.number(v)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			check := func(got object, name string, want any) {
				t.Helper()
				if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got[name])); diff != "" {
					t.Errorf("%s (-want +got): %s in %v", name, diff, got)
				}
			}

			claimed := ask("lease.claim", object{"ownerId": "a", "leaseTtlMs": 30000})
			check(claimed, "kind", "claimed")
			generation := number(claimed["token"].(object)["leaseGeneration"])
			token := object{"ownerId": "a", "leaseGeneration": generation}
			check(ask("lease.read", object{"ownerId": "a"}), "kind", "found")
			check(ask("lease.renew", object{"token": token, "leaseTtlMs": 20000}), "kind", "renewed")

			update := object{"descriptor": descriptor("n1", "a", generation, 1), "intent": "newClaim"}
			stored := ask("mesh-node.update", update)
			check(stored, "status", "stored")
			list := ask("mesh-node.list", object{"meshName": "play"})
			item := list["items"].([]any)[0].(object)
			check(item, "rid", "n1")
			check(item, "live", true)
			stamp := ask("change-stamp.get", object{"kind": "meshNode", "meshName": "play"})
			if got, want := number(stamp["stamp"]), number(stored["generation"]); got != want {
				t.Errorf("stamp %d, want %d", got, want)
			}
			topology := ask("topology.list", object{"meshName": "play"})
			check(topology["items"].([]any)[0].(object), "state", "ready")
			summary := ask("topology.summary", object{})
			check(summary["items"].([]any)[0].(object), "readyCount", 1)
			remove := object{"meshName": "play", "rid": "n1", "owner": token}
			check(ask("mesh-node.remove", remove), "status", "stored")
			update["descriptor"] = descriptor("n2", "a", generation, 1)
			check(ask("mesh-node.update", update), "status", "stored")
			check(ask("owner.remove-all", object{"owner": token}), "removed", 1)
			check(ask("lease.release", object{"token": token}), "kind", "released")

			key := []byte{0, 1, 255}
			put := object{"kind": "put", "key": key, "bytes": []byte("v")}
			missing := object{"kind": "missing", "key": key}
			check(ask("store.write", object{"conditions": []any{missing}, "mutations": []any{put}}), "kind", "applied")
			check(ask("store.write", object{"conditions": []any{missing}, "mutations": []any{put}}), "kind", "conflict")
			check(ask("store.read", object{"key": key}), "kind", "found")
			scan := ask("store.scan", object{"prefix": []byte{}, "limit": 10})
			check(scan, "kind", "page")
			if n := len(scan["items"].([]any)); n != 1 {
				t.Errorf("scan: %d items, want 1", n)
			}
			check(ask("status.get", object{}), "instanceId", "one")
		})
	}
}

func TestEmptyPayloadIsAnEmptyMapInJSON(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.call(subjects.StatusGet, "", nil).want(map[string]string{"version": "1.2.3"})
}

// TestRoutingIDIsItsBytes: in whichever form it is sent. 1.6
func TestRoutingIDIsItsBytes(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	f.publish(a, "", func(n object) { n["rid"] = object{"hex": "6e31"} })
	unchanged := f.unchanged()
	f.publish(a, "", func(n object) { n["rid"], n["endpoint"] = "n1", "tcp://:7000" }) // the same node
	if got := rids(f.call(subjects.MeshNodeList, page(1, ""), nil).fields()); got != "n1" {
		t.Errorf("listed %s, want n1", got)
	}
	unchanged()
	f.call(subjects.MeshNodeRemove, `{"meshName":"play","rid":"n1","owner":`+a+`}`, nil).want(map[string]string{"status": "stored"})
}

// TestBadInputWritesNothing has one request of each kind of fault; the full tables are those of the codec and of the domain.
func TestBadInputWritesNothing(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	unchanged := f.unchanged()
	large := make([]byte, 1<<20+1)
	deletions := func(n int) (all []any) { // of different keys
		for i := range n {
			all = append(all, object{"kind": "delete", "key": binary.BigEndian.AppendUint16(nil, uint16(i))})
		}
		return all
	}
	for _, c := range []struct {
		why, code, field string
		op               subjects.Operation
		request          object
	}{
		{"missing field", "invalidArgument", "leaseTtlMs", "lease.claim", object{"ownerId": "a"}},
		{"unknown field", "invalidArgument", "ownerID", "lease.claim", object{"ownerId": "a", "leaseTtlMs": 1, "ownerID": "a"}},
		{"out of range", "invalidArgument", "leaseTtlMs", "lease.claim", object{"ownerId": "a", "leaseTtlMs": 0}},
		{"wrong type", "invalidArgument", "ownerId", "lease.claim", object{"ownerId": 7, "leaseTtlMs": 1}},
		{"deep down", "invalidArgument", "descriptor.placementWeight", "mesh-node.update", object{
			"intent": "newClaim",
			"descriptor": func() object {
				d := maps.Clone(descriptor("n1", "a", 1, 1))
				d["placementWeight"] = 10001
				return d
			}(),
		}},
		{"page size", "invalidArgument", "pageSize", "mesh-node.list", object{"meshName": "play", "pageSize": 1001}},
		{"name of another kind", "invalidArgument", "meshName", "change-stamp.get", object{"kind": "authority", "meshName": "play"}},
		{"generation 0", "invalidArgument", "owner.leaseGeneration", "owner.remove-all", object{
			"owner": object{"ownerId": "a", "leaseGeneration": uint64(0)},
		}},
		{"unknown field of an empty request", "invalidArgument", "x", "status.get", object{"x": 1}},
		{"value too large", "tooLarge", "mutations[1].bytes", "store.write", object{"mutations": []any{
			object{"kind": "put", "key": []byte("a"), "bytes": []byte("v")},
			object{"kind": "put", "key": []byte("b"), "bytes": large},
		}}},
		{"descriptor too large", "tooLarge", "descriptor", "mesh-node.update", object{
			"intent": "newClaim",
			"descriptor": func() object {
				d := maps.Clone(descriptor("n1", "a", 1, 1))
				types := make([]any, 4200)
				for i := range types {
					types[i] = fmt.Sprintf("%0255d", i)
				}
				d["spotTypes"] = types
				return d
			}(),
		}},
		{"opaque key too long", "tooLarge", "key", "store.read", object{"key": large[:1025]}},
		{"opaque prefix too long", "tooLarge", "prefix", "store.scan", object{"prefix": large[:1025], "limit": 1}},
		{"write of nothing", "invalidArgument", "mutations", "store.write", object{}},
		{"key twice", "invalidArgument", "mutations[2].key", "store.write", object{"mutations": append(deletions(2), deletions(1)...)}},
		{"more keys than a write takes", "invalidArgument", "mutations", "store.write", object{
			"mutations": deletions(2049),
		}},
		{"scan limit", "invalidArgument", "limit", "store.scan", object{"prefix": []byte{}, "limit": 0}},
	} {
		for _, d := range dialects {
			t.Run(c.why+" "+d.name, func(t *testing.T) {
				payload, err := d.encode(c.request)
				if err != nil {
					t.Fatal(err)
				}
				f.call(c.op, string(payload), headers{"Content-Type": d.contentType}).refused(code(c.code), c.field)
			})
		}
	}
	for _, payload := range []string{"[", claimA + "x", "\xff", "null"} {
		f.call(subjects.LeaseClaim, payload, nil).refused("invalidArgument", "payload")
	}
	unchanged()
}
