package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
)

// object is a map of the protocol.
type object = map[string]any

// ref stands for a value of an earlier reply: its name, and the path within it.
type ref string

// step is one request of a story, and what has to come back.
type step struct {
	op      subjects.Operation
	request object
	want    object // by path; "code" is that of an error reply
	as      string // name of the reply in refs; empty for one that is not needed
}

// dialect is an encoding as a client without our library speaks it.
type dialect struct {
	name, contentType string
	encode            func(any) ([]byte, error)
	decode            func([]byte) (object, error)
}

var dialects = []dialect{
	{"JSON", "application/json", json.Marshal, func(data []byte) (fields object, err error) {
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		return fields, d.Decode(&fields)
	}},
	{"CBOR", "application/cbor", cbor.Marshal, func(data []byte) (fields object, err error) {
		mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[object]()}.DecMode()
		if err != nil {
			return nil, err
		}
		return fields, mode.Unmarshal(data, &fields)
	}},
}

// connectToProgram starts the built program and connects a plain NATS client to it.
func connectToProgram(t *testing.T) *nats.Conn {
	t.Helper()
	return startProgram(t, "--http", "off").connect()
}

// talk is a story that is being told.
type talk struct {
	*testing.T
	dialect
	conn    *nats.Conn
	replies object
}

// TestProtocol has a client in each encoding go through every row of sections 2 to 5 of
// the protocol, and through every form of a reply that can be provoked.
func TestProtocol(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			story := &talk{T: t, dialect: d, conn: connectToProgram(t), replies: object{}}
			for i, s := range protocolSteps() {
				story.ask(fmt.Sprintf("step %d, %s", i, s.op), s)
			}
		})
	}
}

// ask sends a request and compares the reply.
func (k *talk) ask(name string, s step) {
	k.Helper()
	payload, err := k.encode(k.resolve(s.request))
	if err != nil {
		k.Fatalf("%s: %v", name, err)
	}
	m := nats.NewMsg(string(subjects.DefaultPrefix) + "." + string(s.op))
	m.Header.Set("Content-Type", k.contentType)
	m.Data = payload
	reply, err := k.conn.RequestMsg(m, patience)
	if err != nil {
		k.Fatalf("%s: %v", name, err)
	}
	fields, err := k.decode(reply.Data)
	if err != nil || reply.Header.Get("Content-Type") != k.contentType {
		k.Fatalf("%s: reply in %q: %v", name, reply.Header.Get("Content-Type"), err)
	}
	if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
		fields["code"] = code
	} else if reply.Header.Get("Zlink-Revision") == "" {
		k.Errorf("%s: no revision", name)
	}
	k.replies[s.as] = fields
	for path, want := range s.want {
		want, got := text(k.resolve(want)), text(valueAt(fields, path))
		if got != want {
			k.Errorf("%s: %s is %s, want %s in\n%v", name, path, got, want, fields)
		}
	}
}

// resolve replaces the refs in a value.
func (k *talk) resolve(v any) any {
	switch v := v.(type) {
	case ref:
		found := valueAt(k.replies, string(v))
		if found == nil {
			k.Fatalf("nothing at %s", v)
		}
		return found
	case object:
		out := make(object, len(v))
		for name, field := range v {
			out[name] = k.resolve(field)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = k.resolve(v[i])
		}
		return out
	default:
		return v
	}
}

// valueAt is the value at a path of names and numbers; nil when there is none.
func valueAt(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case object:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// text is a value as both encodings have it.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return base64.StdEncoding.EncodeToString(b)
	}
	return fmt.Sprint(v)
}

// TestProtocolStepsAreComplete looks whether the story leaves out an operation.
func TestProtocolStepsAreComplete(t *testing.T) {
	t.Parallel()
	told := make(map[subjects.Operation]bool)
	for _, s := range protocolSteps() {
		told[s.op] = true
	}
	elsewhere := []string{"owner", "change-stamp", "topology", "store", "status"}
	for _, op := range subjects.Operations() {
		if !told[op] && !slices.Contains(elsewhere, op.Group()) {
			t.Errorf("no step asks for %s", op)
		}
	}
}

// TestInfoListsTheOperations asks the micro-service framework what there is.
func TestInfoListsTheOperations(t *testing.T) {
	t.Parallel()
	reply, err := connectToProgram(t).Request("$SRV.INFO.zlink", nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Endpoints []struct {
			Subject  string
			Metadata map[string]string
		}
	}
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, e := range info.Endpoints {
		got = append(got, e.Subject)
		if e.Subject != "zlink.v1."+e.Metadata["operation"] || e.Metadata["request_schema"] == "" {
			t.Errorf("endpoint %s: metadata %v", e.Subject, e.Metadata)
		}
	}
	for _, op := range subjects.Operations() {
		want = append(want, "zlink.v1."+string(op))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}
