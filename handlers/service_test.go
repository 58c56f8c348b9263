package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/nats-io/nats.go"
	"github.com/zlink/zlink-nats/testenv"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

// patience bounds what a test waits for; it is far above what anything takes.
const patience = 20 * time.Second

// clock makes a store's clock of a test's.
type clock struct{ *testenv.Clock }

func (c clock) Now() kvstore.Instant { return kvstore.Instant(c.Clock.Now()) }

func (c clock) Wait(ctx context.Context, until kvstore.Instant) error {
	return c.Sleep(ctx, int64(until))
}

// cborReplies decodes replies of which nothing is known but that names are text.
var cborReplies = func() cbor.DecMode {
	mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// fixture is a service over an empty store, a plain client, and a clock that stands at testenv.T0.
type fixture struct {
	t      *testing.T
	node   *testenv.Node
	client *nats.Conn
	store  *memkv.Store
	clock  *testenv.Clock
	log    *logs
	// stopFails is set by a test that makes Stop fail.
	stopFails bool
	*handlers.Service
}

// start runs a service whose options were changed by edit, which may be nil.
func start(t *testing.T, edit func(*handlers.Options)) *fixture {
	t.Helper()
	return startOn(t, testenv.Server(t, testenv.ServerOptions{}), edit)
}

func startOn(t *testing.T, node *testenv.Node, edit func(*handlers.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, node: node, client: node.Connect(t), clock: testenv.NewClock(testenv.T0), log: new(logs)}
	f.store = memkv.New(memkv.Options{Schema: domain.Schema(), Clock: clock{f.clock}})
	f.Service = f.serve("one", f.store, edit)
	return f
}

// serve starts one more instance. It is stopped with the test.
func (f *fixture) serve(id string, store kvstore.Store, edit func(*handlers.Options)) *handlers.Service {
	f.t.Helper()
	o := handlers.Options{
		Conn: f.node.Connect(f.t), Store: store, InstanceID: id, Version: "1.2.3", Logger: slog.New(f.log),
	}
	if edit != nil {
		edit(&o)
	}
	s, err := handlers.Start(f.t.Context(), o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil && !f.stopFails {
			f.t.Errorf("stop: %v", err)
		}
	})
	return s
}

// answer is a reply as a plain client sees it.
type answer struct {
	t *testing.T
	*nats.Msg
}

// headers are the headers of a request, one value each.
type headers map[string]string

// call sends a request in JSON and returns the reply.
func (f *fixture) call(op subjects.Operation, payload string, h headers) answer {
	f.t.Helper()
	return f.send(subjects.DefaultPrefix.Operation(op), []byte(payload), h)
}

func (f *fixture) send(subject string, payload []byte, h headers) answer {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	reply, err := f.client.RequestMsgWithContext(ctx, request(subject, payload, h))
	if err != nil {
		f.t.Fatalf("%s %s: %v", subject, payload, err)
	}
	return answer{f.t, reply}
}

func request(subject string, payload []byte, h headers) *nats.Msg {
	m := &nats.Msg{Subject: subject, Data: payload, Header: nats.Header{}}
	for name, value := range h {
		m.Header[name] = []string{value}
	}
	return m
}

// fields decodes the body, which must be a result, in whichever encoding the reply says.
func (a answer) fields() map[string]any {
	a.t.Helper()
	if text := a.Header.Get(wire.HeaderError); text != "" {
		a.t.Fatalf("refused: %s", text)
	}
	return a.body()
}

func (a answer) body() map[string]any {
	a.t.Helper()
	var body map[string]any
	var err error
	switch enc := a.Header.Get(wire.HeaderContentType); enc {
	case "application/json":
		err = json.Unmarshal(a.Data, &body)
	case "application/cbor":
		err = cborReplies.Unmarshal(a.Data, &body)
	default:
		a.t.Fatalf("content type %q", enc)
	}
	if err != nil {
		a.t.Fatalf("body %q: %v", a.Data, err)
	}
	return body
}

// want checks fields of a result by their printed form.
func (a answer) want(fields map[string]string) map[string]any {
	a.t.Helper()
	got := a.fields()
	for name, want := range fields {
		if text := fmt.Sprint(got[name]); text != want {
			a.t.Errorf("%s: got %s, want %s, in %s", name, text, want, a.Data)
		}
	}
	return got
}

// refused checks that the reply is an error, in its headers and its body.
func (a answer) refused(code wire.Code, field string) {
	a.t.Helper()
	if got, want := a.Header.Get("Nats-Service-Error-Code"), strconv.Itoa(code.Status()); got != want {
		a.t.Fatalf("header code: got %q, want %q, body %q", got, want, a.Data)
	}
	if text := a.Header.Get("Nats-Service-Error"); text == "" || strings.ContainsAny(text, "\r\n") {
		a.t.Errorf("header text %q", text)
	}
	if _, err := strconv.ParseUint(a.revision(), 10, 63); err != nil {
		a.t.Errorf("revision of a refusal: %v", err)
	}
	var got wire.ErrorBody
	enc, err := wire.DetectEncoding(a.Header.Get(wire.HeaderContentType), a.Data)
	if err == nil {
		err = wire.Unmarshal(enc, a.Data, &got)
	}
	if err != nil {
		a.t.Fatalf("error body %q: %v", a.Data, err)
	}
	if got.Error.Code != code || got.Error.Field != field {
		a.t.Errorf("got %s on field %q, want %s on %q: %s", got.Error.Code, got.Error.Field, code, field, got.Error.Message)
	}
}

func (a answer) revision() string { return a.Header.Get("Zlink-Revision") }

// claim claims a lease of 30 s and returns the token in JSON.
func (f *fixture) claim(owner string) string {
	f.t.Helper()
	got := f.call(subjects.LeaseClaim, fmt.Sprintf(`{"ownerId":%q,"leaseTtlMs":30000}`, owner), nil).
		want(map[string]string{"kind": "claimed"})
	token, err := json.Marshal(got["token"])
	if err != nil {
		f.t.Fatal(err)
	}
	return string(token)
}

// unchanged fails the test if anything is written until the returned function is called.
func (f *fixture) unchanged() func() {
	f.t.Helper()
	before := f.store.Status().Revision
	return func() {
		f.t.Helper()
		if after := f.store.Status().Revision; after != before {
			f.t.Errorf("store moved from revision %d to %d", before, after)
		}
	}
}
