package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestTopologyPageByPage(t *testing.T) { // P-07
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	for _, mesh := range []string{"lab", "play"} {
		for _, rid := range []string{"n1", "n2"} {
			f.publish(a, rid, func(n object) { n["meshName"] = mesh })
		}
	}
	for _, c := range []struct {
		op      subjects.Operation
		request object
		others  []object // lists of their own
		field   string
		want    string
	}{
		{
			"topology.list",
			object{"state": "ready"},
			[]object{{}, {"state": "lost"}, {"state": "ready", "meshName": "play"}, {"state": "ready", "nodeRid": "n1"}, {"state": "ready", "liveOnly": true}},
			"nodeRid", "n1 n2 n1 n2",
		},
		{"topology.list", object{"nodeRid": "n2"}, []object{{}, {"nodeRid": "n1"}, {"nodeRid": "n2", "meshName": "lab"}}, "nodeRid", "n2 n2"},
		{"topology.summary", object{}, []object{{"meshName": "play"}, {"liveOnly": true}}, "meshName", "lab play"},
	} {
		t.Run(fmt.Sprint(c.op, c.request), func(t *testing.T) {
			ask := func(request object, token any) answer {
				t.Helper()
				request = maps.Clone(request)
				request["pageSize"] = 1
				if token != nil {
					request["continuationToken"] = token
				}
				payload, err := json.Marshal(request)
				if err != nil {
					t.Fatal(err)
				}
				return f.call(c.op, string(payload), nil)
			}
			var got []string
			token, more := any(nil), true
			for more {
				body := ask(c.request, token).fields()
				got = append(got, fmt.Sprint(body["items"].([]any)[0].(object)[c.field]))
				if token, more = body["continuationToken"]; !more {
					break
				}
				for _, other := range c.others {
					ask(other, token).refused(wire.CodeScanExpired, "")
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
}
