package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/embedded"
)

const anyPort = "127.0.0.1:0"

// start starts a server that stops with the test.
func start(t *testing.T, o embedded.Options) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *embedded.Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, s *embedded.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// occupy listens on a free address until the test ends.
func occupy(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestServerIsReachedOverTheNetworkAndInProcess(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: anyPort, Dir: t.TempDir(), ServerName: "one"})
	for name, opts := range map[string][]nats.Option{
		"over the network": nil,
		"in the process":   {s.InProcess()},
	} {
		nc := connect(t, s, opts...)
		if got := nc.ConnectedServerName(); got != "one" {
			t.Errorf("%s: server name = %q, want %q", name, got, "one")
		}
	}
}

func TestURLOfServerOnAllInterfacesCanBeConnectedTo(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "0.0.0.0:0", Dir: t.TempDir()})
	u, err := url.Parse(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	if u.Hostname() != "127.0.0.1" || u.Port() == "0" {
		t.Errorf("ClientURL() = %q, want a port of 127.0.0.1", s.ClientURL())
	}
	connect(t, s)
}

func TestStopFreesAddressAndDirectory(t *testing.T) {
	t.Parallel()
	o := embedded.Options{Listen: anyPort, Dir: t.TempDir()}
	first := start(t, o)
	o.Listen = strings.TrimPrefix(first.ClientURL(), "nats://")
	stop(t, first)
	stop(t, first) // once more is no error
	connect(t, start(t, o))
}

func TestStopEndsWithItsContextAndCanBeWaitedForLater(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: anyPort, Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// A server may be down before the context is looked at.
	if err := s.Stop(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Stop(cancelled) = %v, want %v", err, context.Canceled)
	}
	stop(t, s)
	if s.NATS().Running() {
		t.Error("server runs after Stop")
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	taken := occupy(t)
	owned := t.TempDir()
	start(t, embedded.Options{Listen: anyPort, Dir: owned})
	file := writeConfig(t, "")

	for name, tt := range map[string]struct {
		o    embedded.Options
		is   error  // nil: only the text is looked at
		text string // must occur in the error
	}{
		"someone listens on the client address": {
			o:  embedded.Options{Listen: taken},
			is: embedded.ErrAddressInUse, text: taken,
		},
		"someone listens on the cluster address": {
			o: embedded.Options{Listen: anyPort, ServerName: "a", Cluster: embedded.Cluster{
				Name: "c", Listen: taken, Routes: []string{taken},
			}},
			is: embedded.ErrAddressInUse, text: taken,
		},
		"someone listens on the monitoring port of the file": {
			o:    embedded.Options{Listen: anyPort, ConfigFile: writeConfig(t, "http: "+taken)},
			text: taken,
		},
		"another server owns the directory": {
			o:  embedded.Options{Listen: anyPort, Dir: owned},
			is: embedded.ErrDirInUse, text: owned,
		},
		"the directory cannot be made": {
			o:  embedded.Options{Listen: anyPort, Dir: filepath.Join(file, "data")},
			is: syscall.ENOTDIR, text: file,
		},
		"the directory is a file": {
			o:  embedded.Options{Listen: anyPort, Dir: file},
			is: syscall.ENOTDIR, text: file,
		},
		"the file turns JetStream off": {
			o:  embedded.Options{Listen: anyPort, ConfigFile: writeConfig(t, "jetstream: disabled")},
			is: embedded.ErrJetStreamOff, text: "jetstream: enabled",
		},
		"the file has an unknown setting": {
			o:  embedded.Options{Listen: anyPort, ConfigFile: writeConfig(t, "max_paylod: 1MB")},
			is: embedded.ErrConfig, text: `unknown field "max_paylod"`,
		},
		"the file is not there": {
			o:  embedded.Options{Listen: anyPort, ConfigFile: filepath.Join(owned, "none.conf")},
			is: os.ErrNotExist, text: "none.conf",
		},
		"the address has no port": {
			o:    embedded.Options{Listen: "127.0.0.1"},
			text: "missing port",
		},
		"the port is too large": {
			o:    embedded.Options{Listen: "127.0.0.1:65536"},
			text: "0..65535",
		},
		"a cluster member has no name": {
			o:    embedded.Options{Listen: anyPort, Cluster: embedded.Cluster{Name: "c", Listen: anyPort}},
			text: "server_name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.o.Dir == "" {
				tt.o.Dir = t.TempDir()
			}
			s, err := embedded.Start(t.Context(), tt.o)
			if err == nil {
				stop(t, s)
				t.Fatal("Start succeeded, want an error")
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("Start() = %v, want %v", err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Start() = %q, want it to mention %q", err, tt.text)
			}
		})
	}
}

func TestStartNeedsADirectory(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Start(t.Context(), embedded.Options{Listen: anyPort}); err == nil {
		t.Error("Start without a directory succeeded: it would store in a temporary one")
	}
}

func TestFailedOrCancelledStartLeavesTheDirectoryFree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Start(cancelled, embedded.Options{Listen: anyPort, Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start(cancelled) = %v, want %v", err, context.Canceled)
	}
	failing := embedded.Options{Listen: anyPort, Dir: dir, ConfigFile: writeConfig(t, "http: "+occupy(t))}
	if _, err := embedded.Start(t.Context(), failing); err == nil {
		t.Error("Start with a taken monitoring port succeeded")
	}
	start(t, embedded.Options{Listen: anyPort, Dir: dir})
}

// settings are what the options and the configuration file decide about.
type settings struct {
	Host       string
	Name       string
	MaxPayload int32
	MaxBatch   int
	SyncAlways bool
	Sync       string
	Dir        string
}

func TestConfigFileWinsWhereItSpeaks(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	for name, tt := range map[string]struct {
		file string
		o    embedded.Options
		want settings
	}{
		"defaults": {
			want: settings{Host: "127.0.0.1", MaxPayload: 8 << 20, MaxBatch: 4096, Sync: "2m0s"},
		},
		"options, a silent file": {
			file: "debug: false",
			o:    embedded.Options{MaxPayload: 2 << 20, MaxBatchSize: 9, SyncAlways: true, ServerName: "o"},
			want: settings{Host: "127.0.0.1", Name: "o", MaxPayload: 2 << 20, MaxBatch: 9, SyncAlways: true, Sync: "2m0s"},
		},
		"a file that says everything": {
			file: `host: 0.0.0.0, server_name: f, max_payload: 3MB,
				jetstream { store_dir: "` + other + `", sync_interval: 7s, limits { batch { max_msgs: 8 } } }`,
			o:    embedded.Options{MaxPayload: 2 << 20, MaxBatchSize: 9, SyncAlways: true, ServerName: "o"},
			want: settings{Host: "0.0.0.0", Name: "f", MaxPayload: 3 << 20, MaxBatch: 8, Sync: "7s", Dir: other},
		},
		"a file that syncs always": {
			file: `jetstream { sync_interval: always }`,
			want: settings{Host: "127.0.0.1", MaxPayload: 8 << 20, MaxBatch: 4096, SyncAlways: true, Sync: "2m0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.o.Listen, tt.o.Dir = anyPort, t.TempDir()
			if tt.file != "" {
				tt.o.ConfigFile = writeConfig(t, tt.file)
			}
			if tt.want.Dir == "" {
				tt.want.Dir = tt.o.Dir
			}
			s := start(t, tt.o)
			v, err := s.NATS().Varz(nil)
			if err != nil {
				t.Fatal(err)
			}
			js := s.NATS().JetStreamConfig()
			got := settings{
				Host:       v.Host,
				MaxPayload: int32(v.MaxPayload),
				MaxBatch:   v.JetStream.Limits.MaxBatchSize,
				SyncAlways: js.SyncAlways,
				Sync:       js.SyncInterval.String(),
				Dir:        filepath.Dir(js.StoreDir),
			}
			if tt.want.Name != "" { // otherwise the server invents one
				got.Name = s.NATS().Name()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLogGoesToTheLogger(t *testing.T) {
	t.Parallel()
	var out safeBuffer
	s := start(t, embedded.Options{
		Listen: anyPort, Dir: t.TempDir(),
		ConfigFile: writeConfig(t, `log_file: "`+filepath.Join(t.TempDir(), "nats.log")+`", trace: true`),
		Logger:     slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug - 4})),
	})
	connect(t, s)
	stop(t, s)
	for _, want := range []string{
		`level=DEBUG msg="Server is ready" op=nats-server`,
		`level=WARN msg="The log settings of`, // where the log went
		"level=DEBUG ",
		"level=DEBUG-4 ", // the protocol trace that the file asks for
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log has no %q:\n%s", want, out.String())
		}
	}
}

// safeBuffer is a buffer that the server's goroutines may write to.
type safeBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
