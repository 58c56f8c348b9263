package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

// TestSchemaOfObjectKey validates keys against the schema, and shows that the codec agrees with it.
func TestSchemaOfObjectKey(t *testing.T) {
	t.Parallel()
	schema := start(t, nil).schemas()["authority.read"]
	for why, row := range map[string]struct {
		key string // in JSON
		ok  bool
	}{
		"map":                      {`{"kind":"actor","globalId":"user:42"}`, true},
		"map of an instance spot":  {`{"kind":"instanceSpot","globalId":"zla1:a:1:x"}`, true},
		"map without an id":        {`{"kind":"actor"}`, false},
		"map with a third field":   {`{"kind":"actor","globalId":"a","meshName":"play"}`, false},
		"map of another kind":      {`{"kind":"spot","globalId":"a"}`, false},
		"map with a number for id": {`{"kind":"actor","globalId":7}`, false},
		"text of an actor":         {`"zla1:a:7:user%3A42"`, true},
		"text of a spot":           {`"zla1:s:7:room%3A%C3%A9"`, true},
		"longest text":             {`"zla1:s:255:` + strings.Repeat("%3A", 255) + `"`, true},
		"text of another letter":   {`"zla1:u:1:A"`, false},
		"text without an id":       {`"zla1:a:0:"`, false},
		"text with leading zero":   {`"zla1:a:01:A"`, false},
		"text with a literal byte": {`"zla1:a:1::"`, false},
		"lower-case digits":        {`"zla1:a:2:%c3%a9"`, false},
		"text with a line end":     {`"zla1:a:1:A\n"`, false},
		"empty text":               {`""`, false},
		"number":                   {`7`, false},
		"list":                     {`["zla1:a:1:A"]`, false},
		"null":                     {`null`, false},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			request := []byte(`{"key":` + row.key + `}`)
			var instance any
			if err := json.Unmarshal(request, &instance); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(instance); (err == nil) != row.ok {
				t.Errorf("schema: %s: %v", request, err)
			}
			if err := wire.Unmarshal(wire.JSON, request, &wire.AuthorityReadRequest{}); (err == nil) != row.ok {
				t.Errorf("codec: %s: %v", request, err)
			}
		})
	}
}
