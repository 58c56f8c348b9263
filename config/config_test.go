package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/config"
)

// TestMain drops the settings of whoever runs the tests.
func TestMain(m *testing.M) {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "ZLINK_") || strings.HasPrefix(name, "NATS_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// cli is a program with one setting of each kind.
type cli struct {
	config.Config
	File kong.ConfigFlag `name:"config"`
}

// fleet is a program with commands, one of which takes a list.
type fleet struct {
	File kong.ConfigFlag `name:"config"`
	Sail struct {
		Mesh string   `required:"" env:"ZLINK_MESH"`
		Ship []string `sep:"none"`
	} `cmd:""`
	Anchor struct{ Depth int } `cmd:""`
}

func parse(t *testing.T, args ...string) (*config.Config, error) {
	t.Helper()
	var c cli
	k, err := kong.New(&c, kong.Configuration(config.File(new(cli))))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(args)
	return &c.Config, err
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zlink.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Client:           config.Client{Connection: config.Connection{Timeout: 15 * time.Second}, Prefix: "zlink.v1"},
		Store:            config.Store{Bucket: "zlink", Replicas: 1},
		Embedded:         config.Embedded{Listen: "127.0.0.1:4222", Data: abs(t, "zlink-data")},
		HTTP:             "127.0.0.1:8280",
		AwaitTimeout:     30 * time.Second,
		RequestTimeout:   10 * time.Second,
		ChangesRetention: time.Hour,
		ChangesEncoding:  "cbor",
		LogFormat:        "text",
		LogLevel:         "info",
		ShutdownTimeout:  10 * time.Second,
		StartupTimeout:   2 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if !got.Sync.Always() || got.External() {
		t.Errorf("default sync %v, external %v; want always, false", got.Sync, got.External())
	}
}

// Not parallel: it sets environment variables.
func TestFlagWinsOverEnvironmentOverFileOverDefault(t *testing.T) {
	t.Setenv("ZLINK_BUCKET", "from-env")
	t.Setenv("ZLINK_PREFIX", "env.v1")
	t.Setenv("NATS_URL", "nats://env:1")
	t.Setenv("NATS_USER", "tools")
	t.Setenv("ZLINK_USER", "ours")
	file := writeFile(t, "bucket: from-file\nprefix: file.v1\nserver: nats://file:1\nreplicas: 3\nsync: 2m\nhttp: off\n")
	c, err := parse(t, "--config", file, "--bucket", "from-flag")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ source, got, want string }{
		{"a flag wins over all", c.Bucket, "from-flag"},
		{"the environment wins over the file", c.Prefix, "env.v1"},
		{"a variable of the NATS tools does too", c.Server, "nats://env:1"},
		{"our variable wins over that of the NATS tools", c.User, "ours"},
		{"the file wins over the default", c.Sync.String(), "2m0s"},
		{"off is a text in the file", c.HTTP, config.Off},
		{"a default is what is left", c.LogFormat, "text"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %q, want %q", row.source, row.got, row.want)
		}
	}
	if c.Replicas != 3 {
		t.Errorf("replicas of the file: got %d, want 3", c.Replicas)
	}
}

// Not parallel: it sets environment variables.
func TestOwnerSubjectsAreTurnedOnAnywhere(t *testing.T) {
	on, off := writeFile(t, "owner-subjects: true\n"), writeFile(t, "owner-subjects: false\n")
	for _, row := range []struct {
		env  string
		args []string
		want bool
	}{
		{"", nil, false},
		{"", []string{"--owner-subjects"}, true},
		{"", []string{"--config", on}, true},
		{"", []string{"--config", off}, false},
		{"true", nil, true},
		{"false", []string{"--config", on}, false},
	} {
		t.Run(fmt.Sprint(row.env, row.args), func(t *testing.T) {
			if row.env != "" {
				t.Setenv("ZLINK_OWNER_SUBJECTS", row.env)
			}
			c, err := parse(t, row.args...)
			if err != nil || c.OwnerSubjects != row.want {
				t.Errorf("got %t, %v, want %t", c != nil && c.OwnerSubjects, err, row.want)
			}
		})
	}
}

func TestFileKeepsTextAsWritten(t *testing.T) {
	t.Parallel()
	c, err := parse(t, "--config", writeFile(t, "# a comment\nuser: 'n7'\npassword: 0123\ncontext: null\nserver: |-\n  nats://a:1\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.User, c.Password, c.Context, c.Server}
	if diff := cmp.Diff([]string{"n7", "0123", "", "nats://a:1"}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"unknown key":              {"bukcet: a\n", `unknown key "bukcet"; the keys are await-timeout,`},
		"key of another command":   {"json: true\n", `unknown key "json"`},
		"key given twice":          {"bucket: a\nbucket: b\n", `"bucket" already defined`},
		"value of the wrong type":  {"bucket: a\nreplicas: many\n", `zlink.yaml:2: key "replicas"`},
		"several values":           {"server: [a, b]\n", `key "server": want one value`},
		"period that is not one":   {"sync: sometimes\n", `key "sync"`},
		"value not on the list":    {"log-format: xml\n", `--log-format must be one of`},
		"value out of range":       {"replicas: 9\n", `--replicas: got "9"`},
		"a list instead of a map":  {"- bucket\n", "zlink.yaml"},
		"text that is not YAML":    {"bucket: 'a\n", "zlink.yaml"},
		"duration without a unit":  {"timeout: 5\n", `key "timeout"`},
		"map where text is wanted": {"bucket: {name: a}\n", `key "bucket": want one value`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, "--config", writeFile(t, row.text))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want one with %q", err, row.want)
			}
		})
	}
}

// Each command takes its part of one file.
func TestFileIsForEveryCommand(t *testing.T) {
	t.Parallel()
	sail := func(text string) (*fleet, error) {
		var f fleet
		k, err := kong.New(&f, kong.Configuration(config.File(new(fleet))))
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Parse([]string{"sail", "--config", writeFile(t, text)})
		return &f, err
	}
	f, err := sail("mesh: play\nship: [a, 'b,c', 7]\ndepth: 3\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b,c", "7"}, f.Sail.Ship); diff != "" || f.Sail.Mesh != "play" {
		t.Errorf("mesh %q, ships (-want +got):\n%s", f.Sail.Mesh, diff)
	}
	if f, err := sail("mesh: play\nship: a,b\n"); err != nil || len(f.Sail.Ship) != 1 {
		t.Errorf("one value: got %v, %v, want it alone", f.Sail.Ship, err)
	}
	for text, want := range map[string]string{
		"mesh: play\nship: [{a: b}]\n": `zlink.yaml:2: key "ship": want a list of values`,
		"mesh: [play]\n":               `key "mesh": want one value`,
		"mehs: play\n":                 `unknown key "mehs"; the keys are depth, mesh, ship`,
		"config: other.yaml\n":         `unknown key "config"`,
	} {
		if _, err := sail(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", text, err, want)
		}
	}
}

func TestEmptyFileChangesNothing(t *testing.T) {
	t.Parallel()
	if _, err := parse(t, "--config", writeFile(t, "# nothing\n")); err != nil {
		t.Error(err)
	}
}

func TestMissingFileIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := parse(t, "--config", filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args  []string
		field string
	}{
		"replicas below the range":      {[]string{"--replicas=0"}, "replicas"},
		"replicas above the range":      {[]string{"--replicas=6"}, "replicas"},
		"bucket with a dot":             {[]string{"--bucket=a.b"}, "bucket"},
		"bucket without a name":         {[]string{"--bucket="}, "bucket"},
		"bucket with a long name":       {[]string{"--bucket=" + strings.Repeat("a", 65)}, "bucket"},
		"prefix that ends with a dot":   {[]string{"--prefix=zlink."}, "prefix"},
		"prefix with a wildcard":        {[]string{"--prefix=zlink.*"}, "prefix"},
		"prefix too long":               {[]string{"--prefix=" + strings.Repeat("a", 129)}, "prefix"},
		"listen without a port":         {[]string{"--listen=127.0.0.1"}, "listen"},
		"listen on a port above 65535":  {[]string{"--listen=127.0.0.1:65536"}, "listen"},
		"http without a port":           {[]string{"--http=on"}, "http"},
		"no time for an answer":         {[]string{"--timeout=0s"}, "timeout"},
		"no time for a request":         {[]string{"--request-timeout=0s"}, "request-timeout"},
		"retention too short":           {[]string{"--changes-retention=10ms"}, "changes-retention"},
		"shutdown time below zero":      {[]string{"--shutdown-timeout=-1s"}, "shutdown-timeout"},
		"startup time below zero":       {[]string{"--startup-timeout=-1s"}, "startup-timeout"},
		"no data directory":             {[]string{"--data="}, "data"},
		"password without its user":     {[]string{"--password=x"}, "user"},
		"certificate without its key":   {[]string{"--tlscert=c.pem"}, "tlskey"},
		"key without its certificate":   {[]string{"--tlskey=k.pem"}, "tlscert"},
		"JetStream domain of two words": {[]string{"--js-domain=a.b"}, "js-domain"},
		"inbox prefix with a wildcard":  {[]string{"--inbox-prefix=_INBOX.>"}, "inbox-prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, row.args...)
			invalid, ok := errors.AsType[*config.InvalidError](err)
			if !ok || invalid.Field != row.field {
				t.Errorf("got %v, want an InvalidError of %q", err, row.field)
			}
		})
	}
}

func TestSync(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"always": 0, "2m": 2 * time.Minute, "100ms": 100 * time.Millisecond} {
		var s config.Sync
		if err := s.UnmarshalText([]byte(text)); err != nil || s.Every != want {
			t.Errorf("%q: got %v, %v; want %v", text, s.Every, err, want)
		}
	}
	for text, why := range map[string]string{"": "nothing", "never": "no period", "0s": "no time at all", "-1s": "below zero", "5": "no unit"} {
		if err := new(config.Sync).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted: %s", text, why)
		}
	}
}
