package wire_test

import (
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zlink/zlink-nats/wire"
)

func TestUnmarshalAccepts(t *testing.T) {
	t.Parallel()
	for why, row := range map[string]struct {
		enc     wire.Encoding
		payload string // CBOR in hexadecimal digits
		want    probe
	}{
		"nothing as CBOR":                    {wire.CBOR, "", probe{}},
		"nothing as JSON":                    {wire.JSON, "", probe{}},
		"blanks around":                      {wire.JSON, "\t\r\n {} \n", probe{}},
		"null is absent in CBOR":             {wire.CBOR, "a2 6474657874 f6 646e616d65 f6", probe{}},
		"null is absent in JSON":             {wire.JSON, `{"text":null,"rows":null,"nested":null,"limit":null}`, probe{}},
		"names in any order":                 {wire.CBOR, "a2 6474657874 6161 626174 00", probe{Text: new("a"), At: new(wire.Instant(0))}},
		"integer that is longer than needed": {wire.CBOR, "a1 65736d616c6c 1b 0000000000000001", probe{Small: new(uint8(1))}},
		"length that is longer than needed":  {wire.CBOR, "b9 0001 7a 00000004 74657874 78 01 61", probe{Text: new("a")}},
		"empty text where it is a pointer":   {wire.JSON, `{"text":""}`, probe{Text: new("")}},
		"escaped text":                       {wire.JSON, `{"\u0074ext":"a\u00e9\ud83d\ude00\"\/"}`, probe{Text: new("aé😀\"/")}},
		"least instant":                      {wire.CBOR, "a1 626174 3b 7fffffffffffffff", probe{At: new(wire.Instant(math.MinInt64))}},
		"greatest u64":                       {wire.CBOR, "a1 63753634 1b ffffffffffffffff", probe{U64: new(wire.U64(math.MaxUint64))}},
		"greatest u64 in JSON":               {wire.JSON, `{"u64":"18446744073709551615"}`, probe{U64: new(wire.U64(math.MaxUint64))}},
		"greatest u64 as a number":           {wire.JSON, `{"u64":9007199254740991}`, probe{U64: new(wire.U64(1<<53 - 1))}},
		"u64 zero":                           {wire.JSON, `{"u64":"0"}`, probe{U64: new(wire.U64(0))}},
		"greatest count":                     {wire.JSON, `{"count":4294967295}`, probe{Count: new(uint32(math.MaxUint32))}},
		"negative instant":                   {wire.JSON, `{"at":-9223372036854775808}`, probe{At: new(wire.Instant(math.MinInt64))}},
		"false where it may be left out":     {wire.JSON, `{"plain":false}`, probe{}},
		"empty lists, maps and bytes": {
			wire.JSON, `{"list":[],"map":{},"rows":[],"bytes":""}`,
			probe{List: []string{}, Map: map[string]uint32{}, Rows: []row{}, Bytes: wire.Bytes{}},
		},
		"empty bytes in CBOR":              {wire.CBOR, "a1 656279746573 40", probe{Bytes: wire.Bytes{}}},
		"stamped fields left out":          {wire.JSON, `{"rows":[{"id":"","tags":["t"],"count":0}]}`, probe{Rows: []row{{Tags: []string{"t"}}}}},
		"stamped fields sent":              {wire.JSON, `{"rows":[{"id":"a","tags":[],"count":1,"stamp":9}]}`, probe{Rows: []row{{"a", []string{}, 1, 9}}}},
		"RID as text":                      {wire.CBOR, "a1 63726964 62c3a9", probe{RID: new(wire.RID("é"))}},
		"RID as bytes":                     {wire.CBOR, "a1 63726964 4200ff", probe{RID: new(wire.RID("\x00\xff"))}},
		"RID as bytes that could be text":  {wire.CBOR, "a1 63726964 4161", probe{RID: new(wire.RID("a"))}},
		"RID in digits":                    {wire.JSON, `{"rid":{"hex":"00fF"}}`, probe{RID: new(wire.RID("\x00\xff"))}},
		"RID in digits that could be text": {wire.JSON, `{"rid":{"hex":"61"}}`, probe{RID: new(wire.RID("a"))}},
		"key as text in CBOR":              {wire.CBOR, "a1 636b6579 6a 7a6c61313a613a313a41", probe{Key: &wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "A"}}},
		"key as escaped text":              {wire.JSON, `{"key":"zla1:s:1:\u0041"}`, probe{Key: &wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "A"}}},
		"key as a map":                     {wire.JSON, `{"key":{"kind":"instanceSpot","globalId":"A"}}`, probe{Key: &wire.ObjectKey{Kind: wire.ObjectInstanceSpot, GlobalID: "A"}}},
		"key is null":                      {wire.JSON, `{"key":null}`, probe{}},
		"more elements than are allotted at once": {
			wire.JSON, `{"list":[` + strings.Repeat(`"a",`, 99) + `"a"]}`, probe{List: strings.Split(strings.Repeat("a", 100), "")},
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			data := []byte(row.payload)
			if row.enc == wire.CBOR {
				var err error
				if data, err = hex.DecodeString(strings.ReplaceAll(row.payload, " ", "")); err != nil {
					t.Fatal(err)
				}
			}
			var got probe
			if err := wire.Unmarshal(row.enc, data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarshalJSON(t *testing.T) {
	t.Parallel()
	for why, row := range map[string]struct {
		message any
		want    string
	}{
		"required and stamped fields are always there, never null": {row{}, `{"id":"","tags":[],"count":0,"stamp":0}`},
		"absent fields are left out":                               {probe{}, `{}`},
		"zero behind a pointer is there":                           {probe{Text: new(""), Flag: new(false)}, `{"text":"","flag":false}`},
		"HTML is not escaped":                                      {probe{Name: "<a>&é"}, `{"name":"<a>&é"}`},
		"control characters are escaped":                           {probe{Name: "\x00\n\""}, `{"name":"\u0000\n\""}`},
		"names of a map are in order":                              {probe{Map: map[string]uint32{"b": 1, "a": 2, "aa": 3}}, `{"map":{"a":2,"aa":3,"b":1}}`},
		"RID as text":                                              {probe{Router: "é"}, `{"router":"é"}`},
		"RID in digits":                                            {probe{Router: "\x7f"}, `{"router":{"hex":"7f"}}`},
		"RID with U+0080":                                          {probe{Router: "\u0080"}, `{"router":{"hex":"c280"}}`},
		"RID with U+FFFD of its own":                               {probe{Router: "\ufffd"}, `{"router":"` + "\ufffd" + `"}`},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			got, err := wire.Marshal(wire.JSON, row.message)
			if string(got) != row.want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, row.want)
			}
		})
	}
}

func TestMarshalRefusesInvalidText(t *testing.T) {
	t.Parallel()
	for path, message := range map[string]any{
		"name":          probe{Name: "\xff"},
		"list: [1]":     probe{List: []string{"", "\xff"}},
		`map: ["\xff"]`: probe{Map: map[string]uint32{"\xff": 1}},
		"nested: text":  probe{Nested: &probe{Text: new("\xff")}},
	} {
		for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
			if _, err := wire.Marshal(enc, message); err == nil || !strings.Contains(err.Error(), "marshal probe: "+path+": ") {
				t.Errorf("%s: got %v, want an error that names %s", enc.ContentType(), err, path)
			}
		}
	}
}

func TestUnmarshalSharesNoMemory(t *testing.T) {
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		want := probe{Text: new("text"), Bytes: wire.Bytes("bytes"), Router: "router", Map: map[string]uint32{"name": 1}}
		data, err := wire.Marshal(enc, want)
		if err != nil {
			t.Fatal(err)
		}
		var got probe
		if err := wire.Unmarshal(enc, data, &got); err != nil {
			t.Fatal(err)
		}
		clear(data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, after the payload was wiped (-want +got):\n%s", enc.ContentType(), diff)
		}
	}
}

func TestClaimedLengthAllotsLittle(t *testing.T) { // not parallel: it counts the memory of the whole process
	// The payload claims 64 Ki rows of which the first is refused, so hardly any may be allotted before.
	payload := append([]byte("\xa1\x64rows\x9a\x00\x00\xff\xff"), make([]byte, 1<<16)...)
	const runs, limit = 100, 8192
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if err := wire.Unmarshal(wire.CBOR, payload, &probe{}); err == nil {
			t.Fatal("got no error")
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > limit {
		t.Errorf("allotted %d bytes, want at most %d", got, limit)
	}
}

func TestDetectEncoding(t *testing.T) {
	t.Parallel()
	for why, row := range map[string]struct {
		contentType, payload string
		want                 wire.Encoding
	}{
		"header says CBOR":       {"application/cbor", "{}", wire.CBOR},
		"header says JSON":       {"application/json", "\xa0", wire.JSON},
		"header with parameter":  {"Application/JSON; charset=utf-8", "", wire.JSON},
		"no header, empty":       {"", "", wire.JSON},
		"no header, map in JSON": {"", "{}", wire.JSON},
		"no header, blanks":      {"", " \t\r\n{", wire.JSON},
		"no header, map in CBOR": {"", "\xa0", wire.CBOR},
		"no header, JSON list":   {"", "[]", wire.CBOR},
		"no header, only blanks": {"", "  ", wire.CBOR},
	} {
		got, err := wire.DetectEncoding(row.contentType, []byte(row.payload))
		if got != row.want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", why, got, err, row.want)
		}
	}
	for _, contentType := range []string{"text/plain", ";", "application/json, application/cbor"} {
		_, err := wire.DetectEncoding(contentType, nil)
		if invalid, ok := errors.AsType[*wire.InvalidError](err); !ok || invalid.Field != wire.HeaderContentType {
			t.Errorf("content type %q: got %v, want an InvalidError of the header", contentType, err)
		}
	}
}

func TestTypesThatNoMessageMayHave(t *testing.T) {
	t.Parallel()
	for why, message := range map[string]any{
		"not a struct": "text",
		"floating point": struct {
			A float64 `json:"a"`
		}{},
		"platform integer": struct {
			A int `json:"a"`
		}{},
		"anything": struct {
			A any `json:"a"`
		}{},
		"map by number": struct {
			A map[uint32]string `json:"a"`
		}{A: nil},
		"no tag": struct{ A string }{},
		"tag without name": struct {
			A string `json:",omitzero"`
		}{},
		"other option": struct {
			A string `json:"a,omitempty"`
		}{},
		"list of pointers": struct {
			A []*string `json:"a"`
		}{},
		"two fields of a name": struct {
			A string `json:"id"`
			row
		}{},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("got no panic")
				}
			}()
			_, _ = wire.Marshal(wire.CBOR, message)
		})
	}
}
