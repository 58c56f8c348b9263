package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/zlink/zlink-nats/wire"
)

// keyTexts are the text forms that must be read and written, by what they show. The first five are the table of 1.7.
var keyTexts = map[string]struct {
	key  wire.ObjectKey
	text string
}{
	"colon is escaped":            {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "user:42"}, "zla1:a:7:user%3A42"},
	"case counts":                 {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "User:42"}, "zla1:a:7:User%3A42"},
	"U+00E9":                      {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "\u00e9"}, "zla1:a:2:%C3%A9"},
	"e U+0301 is not normalised":  {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "e\u0301"}, "zla1:a:3:e%CC%81"},
	"spot":                        {wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "room:\u00e9"}, "zla1:s:7:room%3A%C3%A9"},
	"spot with the id of another": {wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "user:42"}, "zla1:s:7:user%3A42"},
	"every byte that is itself": {
		wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "AMZamz059-._~"}, "zla1:a:13:AMZamz059-._~",
	},
	"their neighbours": {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "@[`{/:,^}"}, "zla1:a:9:%40%5B%60%7B%2F%3A%2C%5E%7D"},
	"the escape itself": {
		wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "%41"}, "zla1:a:3:%2541",
	},
	"blanks and controls are kept": {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: " a\n\x7f"}, "zla1:a:4:%20a%0A%7F"},
	"one byte":                     {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "A"}, "zla1:a:1:A"},
	"four-byte character":          {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "\U0001f600"}, "zla1:a:4:%F0%9F%98%80"},
	"255 bytes":                    {wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: strings.Repeat("a", 255)}, "zla1:a:255:" + strings.Repeat("a", 255)},
	"255 bytes, all escaped":       {wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: strings.Repeat(":", 255)}, "zla1:s:255:" + strings.Repeat("%3A", 255)},
}

// refusedKeyTexts are texts that are no text form, by what is wrong. 1.7, K-01.
var refusedKeyTexts = map[string]string{
	"empty":                             "",
	"the prefix alone":                  "zla1:",
	"another version":                   "zla2:a:1:A",
	"prefix in upper case":              "ZLA1:a:1:A",
	"no prefix":                         "a:1:A",
	"blank before the prefix":           " zla1:a:1:A",
	"another letter":                    "zla1:u:1:A",
	"letter in upper case":              "zla1:A:1:A",
	"no letter":                         "zla1::1:A",
	"a word for a letter":               "zla1:actor:1:A",
	"no length":                         "zla1:a::A",
	"neither length nor id":             "zla1:a",
	"no id":                             "zla1:a:1",
	"empty id":                          "zla1:a:0:",
	"empty id of another length":        "zla1:a:1:",
	"length with a leading zero":        "zla1:a:01:A",
	"length with a sign":                "zla1:a:+1:A",
	"negative length":                   "zla1:a:-1:A",
	"length with a blank":               "zla1:a: 1:A",
	"length in hexadecimal":             "zla1:a:0x1:A",
	"length that is not a number":       "zla1:a:one:A",
	"length beyond 64 bits":             "zla1:a:18446744073709551617:A",
	"length above the byte count":       "zla1:a:2:A",
	"length below the byte count":       "zla1:a:1:AB",
	"length of the text, not the id":    "zla1:a:3:%3A",
	"length in characters, not bytes":   "zla1:a:1:%C3%A9",
	"256 bytes":                         "zla1:a:256:" + strings.Repeat("a", 256),
	"256 bytes that are said to be 255": "zla1:a:255:" + strings.Repeat("a", 256),
	"256 bytes, all escaped":            "zla1:a:256:" + strings.Repeat("%3A", 256),
	"needless escape":                   "zla1:a:1:%41",
	"needless escape of a dash":         "zla1:a:1:%2D",
	"needless escape of a tilde":        "zla1:a:1:%7E",
	"lower-case digits":                 "zla1:a:1:%c3",
	"lower-case digits in UTF-8":        "zla1:a:2:%c3%a9",
	"one lower-case digit":              "zla1:a:1:%3a",
	"percent sign at the end":           "zla1:a:1:%",
	"percent sign and one digit":        "zla1:a:1:%3",
	"percent sign and no digits":        "zla1:a:1:%GG",
	"percent sign and a sign":           "zla1:a:1:%+1",
	"percent sign as itself":            "zla1:a:3:%25%",
	"plus for a blank":                  "zla1:a:3:a+b",
	"literal colon":                     "zla1:a:1::",
	"literal colon after others":        "zla1:a:3:a:b",
	"literal blank":                     "zla1:a:1: ",
	"literal slash":                     "zla1:a:3:a/b",
	"literal NUL":                       "zla1:a:1:\x00",
	"literal byte beyond ASCII":         "zla1:a:2:\u00e9",
	"literal byte that is not UTF-8":    "zla1:a:1:\xff",
	"not UTF-8":                         "zla1:a:1:%FF",
	"UTF-8 cut off":                     "zla1:a:1:%C3",
	"surrogate":                         "zla1:a:3:%ED%A0%80",
	"overlong UTF-8":                    "zla1:a:2:%C1%81",
	"NUL":                               "zla1:a:1:%00",
	"NUL within":                        "zla1:a:3:a%00b",
	"blank at the end":                  "zla1:a:1:A ",
	"line end at the end":               "zla1:a:1:A\n",
}

func TestObjectKeyText(t *testing.T) { // 1.7
	t.Parallel()
	for why, row := range keyTexts {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			if got := row.key.Text(); got != row.text {
				t.Errorf("text of %+v is %q, want %q", row.key, got, row.text)
			}
			if got, err := wire.ParseObjectKey(row.text); got != row.key || err != nil {
				t.Errorf("ParseObjectKey(%q) = %+v, %v, want %+v", row.text, got, err, row.key)
			}
		})
	}
	if got := len(keyTexts["255 bytes, all escaped"].text); got != 776 || wire.MaxKeyTextBytes != 776 {
		t.Errorf("longest text has %d bytes and the limit is %d, want 776", got, wire.MaxKeyTextBytes)
	}
}

func TestParseObjectKeyRefuses(t *testing.T) { // 1.7
	t.Parallel()
	for why, text := range refusedKeyTexts {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			got, err := wire.ParseObjectKey(text)
			invalid, ok := errors.AsType[*wire.InvalidError](err)
			if !ok || got != (wire.ObjectKey{}) {
				t.Fatalf("ParseObjectKey(%q) = %+v, %v, want an InvalidError", text, got, err)
			}
			if invalid.Field != "" || invalid.Got != text || !strings.Contains(invalid.Want, wire.KeyTextPrefix) {
				t.Errorf("refused with %+v", invalid)
			}
		})
	}
}

func TestSpotsShareOneIdentity(t *testing.T) { // 1.7
	t.Parallel()
	user, instance := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "x"}, wire.ObjectKey{Kind: wire.ObjectInstanceSpot, GlobalID: "x"}
	actor := wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "x"}
	if user.Text() != "zla1:s:1:x" || instance.Text() != user.Text() || actor.Text() == user.Text() {
		t.Errorf("texts %q, %q and %q", user.Text(), instance.Text(), actor.Text())
	}
	if !user.IsSpot() || !instance.IsSpot() || actor.IsSpot() {
		t.Error("IsSpot does not tell spots from actors")
	}
}

// encodeAny writes a message whose type the package does not know.
func encodeAny(t *testing.T, enc wire.Encoding, message any) []byte {
	t.Helper()
	marshal := cbor.Marshal
	if enc == wire.JSON {
		marshal = json.Marshal
	}
	data, err := marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestUnmarshalObjectKey(t *testing.T) {
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		for why, row := range keyTexts {
			t.Run(enc.ContentType()+"/"+why, func(t *testing.T) {
				t.Parallel()
				for _, key := range []any{row.text, map[string]any{"kind": row.key.Kind, "globalId": row.key.GlobalID}} {
					var got wire.AuthorityReadRequest
					if err := wire.Unmarshal(enc, encodeAny(t, enc, map[string]any{"key": key}), &got); err != nil || got.Key != row.key {
						t.Errorf("key %v: got %+v, %v, want %+v", key, got.Key, err, row.key)
					}
				}
			})
		}
	}
	// The kind of a spot can be told in a map alone.
	var got wire.AuthorityReadRequest
	if err := wire.Unmarshal(wire.JSON, []byte(`{"key":{"kind":"instanceSpot","globalId":"x"}}`), &got); err != nil || got.Key.Kind != wire.ObjectInstanceSpot {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnmarshalRefusesObjectKeyText(t *testing.T) { // K-01
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		for why, text := range refusedKeyTexts {
			if !utf8.ValidString(text) {
				continue // no text at all, neither in CBOR nor in JSON
			}
			t.Run(enc.ContentType()+"/"+why, func(t *testing.T) {
				t.Parallel()
				err := wire.Unmarshal(enc, encodeAny(t, enc, map[string]any{"key": text}), &wire.AuthorityReadRequest{})
				if invalid, ok := errors.AsType[*wire.InvalidError](err); !ok || invalid.Field != "key" || invalid.Got != text {
					t.Errorf("key %q: got %v, want an InvalidError of the key", text, err)
				}
			})
		}
	}
}

// TestObjectKeyIsReadAmongOtherFields shows that text in place of a map leaves the reader where the next field begins.
func TestObjectKeyIsReadAmongOtherFields(t *testing.T) {
	t.Parallel()
	key := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}
	want := wire.ObjectReleaseEndedRequest{Key: key, ExpectedStoreVersion: "7"}
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		var got wire.ObjectReleaseEndedRequest
		err := wire.Unmarshal(enc, encodeAny(t, enc, map[string]any{"key": key.Text(), "expectedStoreVersion": "7"}), &got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", enc.ContentType(), err, diff)
		}
	}
}

func FuzzParseObjectKey(f *testing.F) {
	for _, row := range keyTexts {
		f.Add(row.text)
	}
	for _, text := range refusedKeyTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := wire.ParseObjectKey(text); err == nil {
			checkKeyText(t, key, text)
		} else {
			checkNoKeyText(t, err)
		}
		if n := len(text); n == 0 || n > 255 || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return
		}
		for _, kind := range []wire.ObjectKind{wire.ObjectActor, wire.ObjectUserSpot} { // the text as an id
			key := wire.ObjectKey{Kind: kind, GlobalID: text}
			if got, err := wire.ParseObjectKey(key.Text()); got != key || err != nil {
				t.Fatalf("ParseObjectKey(%q) = %+v, %v, want %+v", key.Text(), got, err, key)
			}
		}
	})
}

// checkKeyText checks the key that text was read as.
func checkKeyText(t *testing.T, key wire.ObjectKey, text string) {
	t.Helper()
	if got := key.Text(); got != text {
		t.Fatalf("%q is read as %+v, which is written %q", text, key, got)
	}
	if n := len(key.GlobalID); n == 0 || n > 255 || len(text) > wire.MaxKeyTextBytes || !utf8.ValidString(key.GlobalID) {
		t.Fatalf("%q is read as %+v", text, key)
	}
}

func checkNoKeyText(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*wire.InvalidError](err); !ok || strings.ContainsAny(err.Error(), "\r\n") {
		t.Fatalf("refused with %q, want an InvalidError of one line", err)
	}
}
