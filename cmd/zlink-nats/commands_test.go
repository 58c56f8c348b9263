package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	pattern := regexp.MustCompile("(?m)" + strings.Join(args[2:], ""))
	deadline := time.Now().Add(patience)
	for {
		reply, err := http.Get(ts.Getenv("HTTP") + args[1])
		ts.Check(err)
		text, err := io.ReadAll(reply.Body)
		ts.Check(err)
		ts.Check(reply.Body.Close())
		if reply.StatusCode == want && pattern.Match(text) {
			_, _ = ts.Stdout().Write(text)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: got %d, want %d and %q:\n%s", args[1], reply.StatusCode, want, pattern, text)
		}
		time.Sleep(20 * time.Millisecond) // between two looks at something that takes its time
	}
}

// cmdReadme writes the README's session that begins with a text into a file, without a
// line that watches: the script starts that itself, to see what it prints and to end it.
func cmdReadme(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile("../../README.md")
	ts.Check(err)
	_, session, found := strings.Cut(string(text), "```sh\n"+args[1])
	if !found {
		ts.Fatalf("the README has no session that begins with %q", args[1])
	}
	session, _, _ = strings.Cut(session, "```")
	session = strings.TrimPrefix(args[1]+session, "bin/zlink-nats watch --all &\n")
	session = "set -e\n" + strings.ReplaceAll(session, "bin/zlink-nats", "zlink-nats")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(session), 0o600))
}

func cmdDocument(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join("../..", args[1]))
	ts.Check(err)
	// Whatever the session leaves running when it fails ends with it.
	session := "set -e\ntrap 'kill $serve $n1 $n2 2> /dev/null || true' EXIT\ntrap 'exit 1' INT TERM\n"
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		session += block
	}
	for _, replace := range []struct{ old, new string }{
		{"make build\n", ""},
		{"bin/zlink-nats serve", "env -u NATS_URL zlink-nats serve"}, // it has a server of its own
		{"bin/zlink-nats", "zlink-nats"},
	} {
		if !strings.Contains(session, replace.old) {
			ts.Fatalf("%s has no %q", args[1], replace.old)
		}
		session = strings.ReplaceAll(session, replace.old, replace.new)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(session), 0o600))
}

func cmdFreeAddress(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	ts.Check(l.Close())
}

func cmdCapture(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("no %q in the last output", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// plainClient is a client of the service started last.
func plainClient(ts *testscript.TestScript) (*nats.Conn, jetstream.JetStream) {
	nc, err := nats.Connect(ts.Getenv("NATS_URL"))
	ts.Check(err)
	ts.Defer(nc.Close)
	js, err := jetstream.New(nc)
	ts.Check(err)
	return nc, js
}

// cmdAsk sends the request in a file, with the script's variables in it, as a program
// without any library of ours does.
func cmdAsk(ts *testscript.TestScript, neg bool, args []string) {
	nc, _ := plainClient(ts)
	last := 1
	if len(args) > 2 {
		var err error
		last, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	for i := range last {
		ts.Setenv("I", strconv.Itoa(i+1))
		m := nats.NewMsg(string(subjects.DefaultPrefix) + "." + args[0])
		m.Data = []byte(os.Expand(ts.ReadFile(args[1]), ts.Getenv))
		reply, err := nc.RequestMsg(m, patience)
		ts.Check(err)
		if refused := reply.Header.Get(wire.HeaderErrorCode) != ""; refused != neg {
			ts.Fatalf("%s: %s", args[0], reply.Data)
		}
		if i+1 == last {
			_, _ = ts.Stdout().Write(reply.Data)
		}
	}
}

func cmdOldService(ts *testscript.TestScript, _ bool, args []string) {
	nc, _ := plainClient(ts)
	subject := subjects.Prefix(args[0]).Operation(subjects.StatusGet)
	_, err := nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte("{}")) })
	ts.Check(err)
	ts.Check(nc.Flush())
}

// cmdRelay serves what the service does under another prefix: as one that does not know
// aggregate.find and actor-transfer.resolve, or answers them with an error code.
func cmdRelay(ts *testscript.TestScript, _ bool, args []string) {
	nc, _ := plainClient(ts)
	for _, op := range subjects.Operations() {
		answer := func(m *nats.Msg) {
			reply, err := nc.RequestMsg(&nats.Msg{Subject: subjects.DefaultPrefix.Operation(op), Header: m.Header, Data: m.Data}, patience)
			if err == nil {
				_ = m.RespondMsg(reply) // whoever asked says what it did not hear
			}
		}
		if op == subjects.AggregateFind || op == subjects.ActorTransferResolve {
			if len(args) < 2 {
				continue
			}
			answer = func(m *nats.Msg) {
				_ = m.RespondMsg(&nats.Msg{
					Header: nats.Header{wire.HeaderErrorCode: {"500"}, wire.HeaderError: {args[1]}},
					Data:   fmt.Appendf(nil, `{"error":{"code":%q,"message":"as asked for"}}`, args[1]),
				})
			}
		}
		_, err := nc.Subscribe(subjects.Prefix(args[0]).Operation(op), answer)
		ts.Check(err)
	}
	ts.Check(nc.Flush())
}

func cmdEditBucket(ts *testscript.TestScript, _ bool, _ []string) {
	_, js := plainClient(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := js.Stream(ctx, "KV_zlink")
	ts.Check(err)
	c := s.CachedInfo().Config
	c.AllowAtomicPublish = false
	_, err = js.UpdateStream(ctx, c)
	ts.Check(err)
}

// cmdDamage writes something that is no record over the first row of a family, as a
// program with another idea of the bucket would.
func cmdDamage(ts *testscript.TestScript, _ bool, args []string) {
	nc, js := plainClient(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := js.Stream(ctx, "KV_zlink")
	ts.Check(err)
	m, err := s.GetMsg(ctx, 1, jetstream.WithGetMsgSubject("$KV.zlink."+args[0]+".>"))
	ts.Check(err)
	_, err = nc.Request(m.Subject, []byte("no record"), patience) // the stream's acknowledgement
	ts.Check(err)
}

func cmdConsumers(ts *testscript.TestScript, _ bool, args []string) {
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	_, js := plainClient(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range count {
		_, err := js.CreateConsumer(ctx, "KV_zlink", jetstream.ConsumerConfig{InactiveThreshold: 10 * patience})
		ts.Check(err)
	}
}

func cmdDrop(ts *testscript.TestScript, _ bool, args []string) {
	keep, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	_, js := plainClient(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := js.Stream(ctx, subjects.ChangesStream)
	ts.Check(err)
	ts.Check(s.Purge(ctx, jetstream.WithPurgeKeep(keep)))
}

func cmdHang(ts *testscript.TestScript, _ bool, _ []string) {
	nc, _ := plainClient(ts)
	m := nats.NewMsg(subjects.DefaultPrefix.Operation(subjects.LeaseRead))
	m.Header.Set(wire.HeaderMinRevision, "1000000")
	m.Data, m.Reply = []byte(`{"ownerId":"a"}`), nc.NewRespInbox()
	ts.Check(nc.PublishMsg(m))
	ts.Check(nc.Flush())
}

// cmdSubscribe takes the changes of a lease as a program without any library of
// ours does. It makes them itself once it is subscribed.
func cmdSubscribe(ts *testscript.TestScript, _ bool, args []string) {
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	nc, _ := plainClient(ts)
	s, err := nc.SubscribeSync("zlink.v1.changes.owner-lease.owner.plain")
	ts.Check(err)
	_, err = nc.Request("zlink.v1.lease.claim", []byte(`{"ownerId":"plain","leaseTtlMs":200}`), patience)
	ts.Check(err)
	var text strings.Builder
	for range count {
		m, err := s.NextMsg(patience)
		ts.Check(err)
		fmt.Fprintf(&text, "%s %s %s\n", m.Header.Get("Zlink-Change"), m.Header.Get("Content-Type"), m.Data)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o600))
}

// cmdOldServer puts a proxy before the NATS server that makes it an older one.
func cmdOldServer(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("OLD_URL", "nats://"+l.Addr().String())
	target := ts.Getenv("LISTEN")
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed at the end of the script
			}
			go age(client, target)
		}
	}()
}

// age forwards a connection, and changes the version that the server names.
func age(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	r := bufio.NewReader(server)
	for { // the server introduces itself again and again
		line, err := r.ReadBytes('\n')
		if bytes.HasPrefix(line, []byte("INFO ")) {
			line = bytes.Replace(line, []byte(`"version":"2.15`), []byte(`"version":"2.13`), 1)
		}
		if _, writeErr := client.Write(line); err != nil || writeErr != nil {
			return
		}
	}
}

func cmdCertificate(ts *testscript.TestScript, _ bool, args []string) {
	public, private, err := ed25519.GenerateKey(nil)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(nil, template, template, public, private)
	ts.Check(err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	ts.Check(err)
	for file, block := range map[string]*pem.Block{
		args[0]: {Type: "CERTIFICATE", Bytes: certificate},
		args[1]: {Type: "PRIVATE KEY", Bytes: key},
	} {
		ts.Check(os.WriteFile(ts.MkAbs(file), pem.EncodeToMemory(block), 0o600))
	}
}
