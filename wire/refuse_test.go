package wire_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

// refusal is a payload that must be refused.
type refusal struct {
	why     string // what is wrong
	payload string // JSON, or CBOR in hexadecimal digits with blanks between items
	field   string // the field to blame
	want    string // part of the text
}

func TestUnmarshalRefusesCBOR(t *testing.T) {
	t.Parallel()
	for _, r := range []refusal{
		{"not a map", "80", "payload", "got \"an array\", want a map"},
		{"text instead of a map", "6161", "payload", "got \"text\""},
		{"cut off after the map's head", "a1", "payload", "beyond the end"},
		{"cut off within the map's head", "b9 01", "payload", "malformed"},
		{"a map that claims more pairs than 64 bits count bytes", "bb ffffffffffffffff", "payload", "beyond the end"},
		{"a pair is missing", "a2 6474657874 6161", "payload", "the end of the payload"},
		{"a value is missing", "a1 6474657874", "text", "the end of the payload"},
		{"trailing byte", "a0 00", "payload", "1 more bytes"},
		{"trailing map", "a0 a0", "payload", "nothing after the map"},
		{"reserved length", "bc", "payload", "malformed"},
		{"map of indefinite length", "bf ff", "payload", "indefinite"},
		{"array of indefinite length", "a1 646c697374 9f ff", "list", "indefinite"},
		{"text of indefinite length", "a1 6474657874 7f 6161 ff", "text", "indefinite"},
		{"bytes of indefinite length", "a1 656279746573 5f 4161 ff", "bytes", "indefinite"},
		{"tagged map", "d9d9f7 a0", "payload", "a tag"},
		{"tagged value", "a1 6474657874 c0 6161", "text", "a tag"},
		{"bignum", "a1 63753634 c2 4101", "u64", "a tag"},
		{"name is bytes", "a1 4474657874 6161", "payload", "name of a field"},
		{"name is a number", "a1 00 6161", "payload", "name of a field"},
		{"name is not UTF-8", "a1 61ff 00", "payload", "UTF-8"},
		{"name is of indefinite length", "a1 7f 6474657874 ff 6161", "payload", "indefinite"},
		{"unknown field", "a1 65636f6c6f72 00", "color", "only fields that the protocol names"},
		{"unknown field with odd name", "a1 63610a22 00", `["a\n\""]`, "only fields"},
		{"unknown field without a name", "a1 60 00", `[""]`, "only fields"},
		{"unknown field with null", "a1 65636f6c6f72 f6", "color", "only fields"},
		{"name in another case", "a1 6454657874 6161", "Text", "only fields"},
		{"field twice", "a2 6474657874 6161 6474657874 6161", "text", "it once"},
		{"field twice, once null", "a2 6474657874 f6 6474657874 6161", "text", "it once"},
		{"name of a map twice", "a1 636d6170 a2 6161 01 6161 01", "map.a", "it once"},
		{"text is bytes", "a1 6474657874 4161", "text", "got \"bytes\", want text"},
		{"text is a number", "a1 6474657874 05", "text", "got \"a non-negative integer\""},
		{"text is a boolean", "a1 6474657874 f5", "text", "got \"a boolean\""},
		{"text is undefined", "a1 6474657874 f7", "text", "got \"undefined\""},
		{"text is not UTF-8", "a1 6474657874 61ff", "text", "UTF-8"},
		{"text is a lone surrogate", "a1 6474657874 63eda080", "text", "UTF-8"},
		{"text is cut off", "a1 6474657874 6361", "text", "beyond the end"},
		{"text claims 2^63 bytes", "a1 6474657874 7b 8000000000000000", "text", "beyond the end"},
		{"text claims 2^64-1 bytes", "a1 6474657874 7b ffffffffffffffff", "text", "beyond the end"},
		{"bytes are text", "a1 656279746573 6161", "bytes", "got \"text\", want bytes"},
		{"bytes are cut off", "a1 656279746573 42 00", "bytes", "beyond the end"},
		{"unknown value", "a1 64726f6c65 65657675696c", "role", "want one of none, client, server"},
		{"value in another case", "a1 64726f6c65 644e6f6e65", "role", "want one of"},
		{"empty value", "a1 64726f6c65 60", "role", "want one of"},
		{"RID is a number", "a1 63726964 01", "rid", "a routing id"},
		{"RID as text with a control character", "a1 63726964 6101", "rid", "a routing id"},
		{"RID as text with U+007F", "a1 63726964 617f", "rid", "a routing id"},
		{"RID as text with U+0085", "a1 63726964 62c285", "rid", "a routing id"},
		{"RID as text that is not UTF-8", "a1 63726964 61ff", "rid", "a routing id"},
		{"RID is a map", "a1 63726964 a1 63686578 623030", "rid", "a map"},
		{"key is bytes", "a1 636b6579 4161", "key", "got \"bytes\", want a map"},
		{"key is text of indefinite length", "a1 636b6579 7f 6161 ff", "key", "indefinite"},
		{"key is text that is not UTF-8", "a1 636b6579 61ff", "key", "UTF-8"},
		{"key is text that is cut off", "a1 636b6579 62 61", "key", "beyond the end"},
		{"key is text of another form", "a1 636b6579 6161", "key", "got \"a\", want zla1:"},
		{"key as text in place of another map", "a1 666e6573746564 6a 7a6c61313a613a313a41", "nested", "got \"text\", want a map"},
		{"u64 is negative", "a1 63753634 20", "u64", "a negative integer"},
		{"u64 is text", "a1 63753634 6131", "u64", "got \"text\""},
		{"u64 is a whole float", "a1 63753634 f93c00", "u64", "a floating-point number"},
		{"count is negative", "a1 65636f756e74 20", "count", "want an integer 0..4294967295"},
		{"count is 2^32", "a1 65636f756e74 1b 0000000100000000", "count", "got \"4294967296\""},
		{"count is half a float", "a1 65636f756e74 f93c00", "count", "a floating-point number"},
		{"count is single", "a1 65636f756e74 fa3f800000", "count", "a floating-point number"},
		{"count is double", "a1 65636f756e74 fb3ff0000000000000", "count", "a floating-point number"},
		{"256 in 8 bits", "a1 65736d616c6c 190100", "small", "want an integer 0..255"},
		{"instant is 2^63", "a1 626174 1b 8000000000000000", "at", "beyond 64 bits"},
		{"instant is -2^63-1", "a1 626174 3b 8000000000000000", "at", "beyond 64 bits"},
		{"instant is text", "a1 626174 6131", "at", "got \"text\""},
		{"instant is cut off", "a1 626174 19 01", "at", "malformed"},
		{"flag is 1", "a1 64666c6167 01", "flag", "want true or false"},
		{"flag is a simple value", "a1 64666c6167 f0", "flag", "a simple value"},
		{"flag is a boolean in two bytes", "a1 64666c6167 f815", "flag", "want true or false"},
		{"list is a map", "a1 646c697374 a0", "list", "want an array"},
		{"list claims too much", "a1 646c697374 9a ffffffff", "list", "beyond the end"},
		{"list lacks an element", "a1 646c697374 83 6161 6162", "list[2]", "the end of the payload"},
		{"element of another type", "a1 646c697374 82 6161 01", "list[1]", "want text"},
		{"element is null", "a1 646c697374 82 6161 f6", "list[1]", "got \"null\""},
		{"map is a list", "a1 636d6170 80", "map", "want a map"},
		{"value in a map is null", "a1 636d6170 a1 6161 f6", "map.a", "got \"null\""},
		{"value in a map of another type", "a1 636d6170 a1 63612e62 6161", `map["a.b"]`, "want an integer"},
		{"required fields missing", "a1 64726f7773 81 a0", "rows[0].id", "missing or empty, want text"},
		{"required list missing", "a1 64726f7773 81 a2 626964 6161 65636f756e74 01", "rows[0].tags", "want an array"},
		{"required field null", "a1 64726f7773 81 a3 626964 6161 6474616773 80 65636f756e74 f6", "rows[0].count", "missing"},
		{"stamped field of another type", "a1 64726f7773 81 a1 657374616d70 6161", "rows[0].stamp", "want an integer"},
		{"deep inside", "a1 666e6573746564 a1 64726f7773 82 a3 626964 6161 6474616773 80 65636f756e74 01 a1 626964 01", "nested.rows[1].id", "want text"},
		{"omitted text sent as empty", "a1 646e616d65 60", "name", "not empty; leave it out instead"},
		{"omitted number sent as zero", "a1 656c696d6974 00", "limit", "not 0; leave it out instead"},
		{"omitted RID sent as empty", "a1 66726f75746572 40", "router", "not empty; leave it out instead"},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			data, err := hex.DecodeString(strings.ReplaceAll(r.payload, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, wire.CBOR, data)
		})
	}
}

func TestUnmarshalRefusesJSON(t *testing.T) {
	t.Parallel()
	for _, r := range []refusal{
		{"not a map", `[]`, "payload", "got \"an array\", want a map"},
		{"null", `null`, "payload", "got \"null\", want a map"},
		{"blanks alone", " \n", "payload", "well-formed JSON"},
		{"cut off", `{`, "payload", "well-formed JSON"},
		{"cut off after a name", `{"text"`, "text", "well-formed JSON"},
		{"cut off after a value", `{"text":"a"`, "payload", "well-formed JSON"},
		{"comma at the end", `{"text":"a",}`, "payload", "well-formed JSON"},
		{"no comma", `{"text":"a" "flag":true}`, "payload", "well-formed JSON"},
		{"no colon", `{"text" "a"}`, "text", "well-formed JSON"},
		{"comment", `{/**/}`, "payload", "well-formed JSON"},
		{"byte order mark", "\ufeff{}", "payload", "well-formed JSON"},
		{"trailing value", `{} {}`, "payload", "nothing after the map"},
		{"trailing byte", `{}x`, "payload", "well-formed JSON"},
		{"trailing NUL", "{}\x00", "payload", "well-formed JSON"},
		{"name without quotes", `{name:"a"}`, "payload", "name of a field"},
		{"name is a number", `{1:2}`, "payload", "name of a field"},
		{"name is not UTF-8", "{\"\xff\":1}", "payload", "UTF-8"},
		{"unknown field", `{"color":1}`, "color", "only fields that the protocol names"},
		{"unknown field with odd name", `{"a\n\"":1}`, `["a\n\""]`, "only fields"},
		{"unknown field with long name", `{"` + strings.Repeat("a", 65) + `":1}`, `["` + strings.Repeat("a", 64) + `"...]`, "only fields"},
		{"name in another case", `{"Text":"a"}`, "Text", "only fields"},
		{"field twice", `{"text":"a","text":"a"}`, "text", "it once"},
		{"field twice, once with an escape", `{"text":"a","t\u0065xt":"a"}`, "text", "it once"},
		{"field twice, once null", `{"text":null,"text":"a"}`, "text", "it once"},
		{"name of a map twice", `{"map":{"a":1,"a":1}}`, "map.a", "it once"},
		{"text is a number", `{"text":5}`, "text", "got \"a number\", want text"},
		{"text is a boolean", `{"text":true}`, "text", "got \"a boolean\""},
		{"text is a map", `{"text":{}}`, "text", "got \"a map\""},
		{"text is not UTF-8", "{\"text\":\"\xff\"}", "text", "UTF-8"},
		{"text is a lone surrogate", `{"text":"\ud800"}`, "text", "well-formed JSON"},
		{"text with a raw line end", "{\"text\":\"a\nb\"}", "text", "well-formed JSON"},
		{"misspelt null", `{"text":nul}`, "text", "want"},
		{"misspelt true", `{"flag":tru}`, "flag", "well-formed JSON"},
		{"bytes in URL alphabet", `{"bytes":"-_8="}`, "bytes", "standard base64"},
		{"bytes without padding", `{"bytes":"YQ"}`, "bytes", "standard base64"},
		{"bytes with stray bits", `{"bytes":"YR=="}`, "bytes", "standard base64"},
		{"bytes with a line end", `{"bytes":"YWJj\nZGVm"}`, "bytes", "standard base64"},
		{"bytes with a blank", `{"bytes":"YW Jj"}`, "bytes", "standard base64"},
		{"bytes are a list", `{"bytes":[1]}`, "bytes", "got \"an array\""},
		{"unknown value", `{"role":"evil"}`, "role", "want one of none, client, server"},
		{"RID with a control character", `{"rid":"\u0001"}`, "rid", "a routing id"},
		{"RID with U+0085", `{"rid":"\u0085"}`, "rid", "a routing id"},
		{"RID in odd digits", `{"rid":{"hex":"0"}}`, "rid", "even number"},
		{"RID in other digits", `{"rid":{"hex":"0g"}}`, "rid", "hexadecimal"},
		{"RID as an empty map", `{"rid":{}}`, "rid", "hexadecimal"},
		{"RID under another name", `{"rid":{"base64":"AA=="}}`, "rid", "hexadecimal"},
		{"RID twice", `{"rid":{"hex":"00","hex":"00"}}`, "rid", "hexadecimal"},
		{"RID in a map that is cut off", `{"rid":{"hex"`, "rid", "well-formed JSON"},
		{"RID in a map without names", `{"rid":{1:2}}`, "rid", "name of a field"},
		{"RID is a number", `{"rid":{"hex":0}}`, "rid", "hexadecimal"},
		{"key is text of another form", `{"key":"a"}`, "key", "got \"a\", want zla1:"},
		{"key is text that is cut off", `{"key":"zla1:a:1:A`, "key", "well-formed JSON"},
		{"key is text with a lone surrogate", `{"key":"zla1:a:1:A\ud800"}`, "key", "well-formed JSON"},
		{"key as text in place of another map", `{"nested":"zla1:a:1:A"}`, "nested", "got \"text\", want a map"},
		{"u64 is 2^53", `{"u64":9007199254740992}`, "u64", "9007199254740991"},
		{"u64 is negative", `{"u64":-1}`, "u64", "got \"-1\""},
		{"u64 has a fraction", `{"u64":1.0}`, "u64", "an integer"},
		{"u64 is 2^64", `{"u64":"18446744073709551616"}`, "u64", "decimal string"},
		{"u64 is empty", `{"u64":""}`, "u64", "decimal string"},
		{"u64 with a sign", `{"u64":"+1"}`, "u64", "decimal string"},
		{"u64 with a zero in front", `{"u64":"01"}`, "u64", "decimal string"},
		{"u64 in hexadecimal", `{"u64":"0x1"}`, "u64", "decimal string"},
		{"u64 with a blank", `{"u64":" 1"}`, "u64", "decimal string"},
		{"count is text", `{"count":"1"}`, "count", "got \"text\""},
		{"count is negative", `{"count":-1}`, "count", "want an integer 0..4294967295"},
		{"count is minus zero", `{"count":-0}`, "count", "want an integer"},
		{"count is 2^32", `{"count":4294967296}`, "count", "got \"4294967296\""},
		{"count has a fraction", `{"count":1.5}`, "count", "without fraction"},
		{"count has an exponent", `{"count":1e2}`, "count", "without fraction or exponent"},
		{"count has a zero in front", `{"count":01}`, "payload", "well-formed JSON"},
		{"256 in 8 bits", `{"small":256}`, "small", "want an integer 0..255"},
		{"instant is text", `{"at":"1"}`, "at", "got \"text\""},
		{"instant is 2^63", `{"at":9223372036854775808}`, "at", "want an integer"},
		{"flag is text", `{"flag":"true"}`, "flag", "want true or false"},
		{"flag is 1", `{"flag":1}`, "flag", "want true or false"},
		{"list is a map", `{"list":{}}`, "list", "want an array"},
		{"list is not closed", `{"list":["a"}`, "list[1]", "the end of the map"},
		{"list is cut off", `{"list":["a"`, "list[1]", "well-formed JSON"},
		{"element of another type", `{"list":["a",1]}`, "list[1]", "want text"},
		{"element is null", `{"list":["a",null]}`, "list[1]", "got \"null\""},
		{"map is a list", `{"map":[]}`, "map", "want a map"},
		{"name in a map is a number", `{"map":{1:1}}`, "map", "name of a field"},
		{"value in a map is null", `{"map":{"a":null}}`, "map.a", "got \"null\""},
		{"value in a map of another type", `{"map":{"a.b":"a"}}`, `map["a.b"]`, "want an integer"},
		{"required fields missing", `{"rows":[{}]}`, "rows[0].id", "missing or empty, want text"},
		{"required list missing", `{"rows":[{"id":"a","count":1}]}`, "rows[0].tags", "want an array"},
		{"required field null", `{"rows":[{"id":"a","tags":[],"count":null}]}`, "rows[0].count", "missing"},
		{"stamped field of another type", `{"rows":[{"stamp":"a"}]}`, "rows[0].stamp", "want an integer"},
		{"deep inside", `{"nested":{"rows":[{"id":"a","tags":[],"count":1},{"id":1}]}}`, "nested.rows[1].id", "want text"},
		{"omitted text sent as empty", `{"name":""}`, "name", "not empty; leave it out instead"},
		{"omitted number sent as zero", `{"limit":0}`, "limit", "not 0; leave it out instead"},
		{"omitted RID sent as empty", `{"router":{"hex":""}}`, "router", "not empty; leave it out instead"},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			r.check(t, wire.JSON, []byte(r.payload))
		})
	}
}

func (r refusal) check(t *testing.T, enc wire.Encoding, data []byte) {
	t.Helper()
	var got probe
	err := wire.Unmarshal(enc, data, &got)
	invalid, ok := errors.AsType[*wire.InvalidError](err)
	if !ok {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	if invalid.Field != r.field {
		t.Errorf("field %q, want %q (%v)", invalid.Field, r.field, err)
	}
	if !strings.Contains(err.Error(), r.want) {
		t.Errorf("error %q does not say %q", err, r.want)
	}
}

func TestUnmarshalNamesFieldsOfRequests(t *testing.T) {
	t.Parallel()
	request := `{"intent":"renew","descriptor":{"populationCapacity":{"actors":{"limit":0},"spots":{"limit":0},"spotTypes":[` +
		`{"objectKind":"userSpot","stableType":"a","limit":1},{"objectKind":"userSpot","stableType":"b","limit":1},` +
		`{"objectKind":"userSpot","stableType":"c","limit":-1}]}}}`
	for why, row := range map[string]struct {
		message        any
		payload, field string
	}{
		"limit of a spot type": {&wire.MeshNodeUpdateRequest{}, request, "descriptor.populationCapacity.spotTypes[2].limit"},
		"kind of a spot type": {
			&wire.MeshNodeUpdateRequest{}, strings.Replace(request, "userSpot", "actor", 1), "descriptor.populationCapacity.spotTypes[0].objectKind",
		},
		"no descriptor":               {&wire.MeshNodeUpdateRequest{}, `{"intent":"renew"}`, "descriptor"},
		"field of an embedded struct": {&wire.MeshNodeListRequest{}, `{"meshName":"a","pageSize":0}`, "pageSize"},
		"first missing in order":      {&wire.LeaseClaimRequest{}, ``, "ownerId"},
		"empty token":                 {&wire.LeaseRenewRequest{}, `{"token":{},"leaseTtlMs":1}`, "token.ownerId"},
		"mutation without key":        {&wire.StoreWriteRequest{}, `{"mutations":[{"kind":"delete"}]}`, "mutations[0].key"},
		"field for a request without": {&wire.StatusGetRequest{}, `{"verbose":true}`, "verbose"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			err := wire.Unmarshal(wire.JSON, []byte(row.payload), row.message)
			if invalid, ok := errors.AsType[*wire.InvalidError](err); !ok || invalid.Field != row.field {
				t.Errorf("got %v, want field %q", err, row.field)
			}
		})
	}
}

// nest returns a probe in a probe and so on, depth maps in all.
func nest(depth int) *probe {
	p := &probe{}
	for range depth - 1 {
		p = &probe{Nested: p}
	}
	return p
}

func TestUnmarshalRefusesDeepNesting(t *testing.T) {
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		t.Run(enc.ContentType(), func(t *testing.T) {
			t.Parallel()
			for depth, field := range map[int]string{16: "", 17: strings.TrimSuffix(strings.Repeat("nested.", 16), ".")} {
				data, err := wire.Marshal(enc, nest(depth))
				if err != nil {
					t.Fatal(err)
				}
				err = wire.Unmarshal(enc, data, &probe{})
				if invalid, ok := errors.AsType[*wire.InvalidError](err); ok != (field != "") || ok && invalid.Field != field {
					t.Errorf("%d levels: got %v, want field %q", depth, err, field)
				}
			}
			hostile := strings.Repeat("\xa1\x66nested", 100_000)
			if enc == wire.JSON {
				hostile = strings.Repeat(`{"nested":`, 100_000)
			}
			if err := wire.Unmarshal(enc, []byte(hostile), &probe{}); err == nil {
				t.Error("100,000 levels: got no error")
			}
		})
	}
}
