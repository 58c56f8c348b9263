package config

import (
	"time"
)

// Config is everything that the service can be told.
type Config struct {
	Client
	Store
	Embedded
	// HTTP is the address of the HTTP listener, "host:port", or [Off].
	HTTP string `name:"http" default:"127.0.0.1:8280" env:"ZLINK_HTTP" help:"Address of the dashboard, /healthz, /readyz and /metrics; port 0 takes a free one, 'off' turns it off."`
	// OwnerSubjects takes requests that act for an owner on the subjects of that owner only. The protocol calls it
	// security.ownerSubjects.
	OwnerSubjects bool `env:"ZLINK_OWNER_SUBJECTS" help:"Take what acts for an owner on PREFIX.as.OWNER.> only, so that NATS permissions bind users to owners (the protocol's security.ownerSubjects)."`
	// RequestTimeout bounds a request that carries no deadline of its own; at least 1 ms.
	RequestTimeout time.Duration `default:"10s" env:"ZLINK_REQUEST_TIMEOUT" help:"Time for a request that has no deadline of its own."`
	// ChangesRetention is how long changes are kept for consumers that resume; at least 1 s.
	ChangesRetention time.Duration `default:"1h" env:"ZLINK_CHANGES_RETENTION" help:"How long changes are kept for consumers that resume."`
	// ChangesEncoding is the encoding of pushed changes: "cbor" or "json".
	ChangesEncoding string `default:"cbor" enum:"cbor,json" env:"ZLINK_CHANGES_ENCODING" help:"Encoding of pushed changes: cbor or json."`
	// LogFormat is "text" or "json".
	LogFormat string `default:"text" enum:"text,json" env:"ZLINK_LOG_FORMAT" help:"Form of the log on stderr: text or json."`
	// LogLevel is "debug", "info", "warn" or "error".
	LogLevel string `default:"info" enum:"debug,info,warn,error" env:"ZLINK_LOG_LEVEL" help:"Least level that is logged: debug, info, warn or error."`
	// AwaitTimeout bounds a wait for an object that carries no deadline of its own; at least 1 ms.
	AwaitTimeout time.Duration `default:"30s" env:"ZLINK_AWAIT_TIMEOUT" help:"Time for object.await without a deadline of its own."`
	// StartupTimeout bounds the wait for a NATS cluster that is not ready when the service starts; at least 0.
	StartupTimeout time.Duration `default:"2m" env:"ZLINK_STARTUP_TIMEOUT" help:"Time to wait at the start for a NATS cluster that has no leader or too few servers yet."`
	// ShutdownTimeout bounds the work on accepted requests after a signal to stop; at least 0.
	ShutdownTimeout time.Duration `default:"10s" env:"ZLINK_SHUTDOWN_TIMEOUT" help:"Time for accepted requests to finish after SIGTERM or SIGINT."`
}

// Off is the value of [Config.HTTP] that turns the HTTP listener off.
const Off = "off"

// Store says where the service keeps its rows.
type Store struct {
	// Bucket is the name of the JetStream key-value bucket: 1..64 of A-Z a-z 0-9 - _.
	Bucket string `default:"zlink" env:"ZLINK_BUCKET" help:"Key-value bucket that holds the rows."`
	// Replicas is the number of servers that store each row: 1..5.
	Replicas int `default:"1" env:"ZLINK_REPLICAS" help:"Servers of the NATS cluster that store each row, 1 to 5."`
}

// Embedded says how to run the NATS server inside the process. It is not used
// when the service connects to another one.
type Embedded struct {
	// Listen is the address for NATS clients, "host:port"; port 0 takes a free one.
	Listen string `default:"127.0.0.1:4222" env:"ZLINK_LISTEN" help:"Address of the NATS server inside the process; port 0 takes a free one."`
	// Data is the directory of the server's data; it is made when it is not there.
	Data string `default:"./zlink-data" type:"path" env:"ZLINK_DATA" help:"Data directory of the NATS server inside the process."`
	// ServerConfig is the path of a native nats-server configuration; empty means none.
	ServerConfig string `type:"path" env:"ZLINK_SERVER_CONFIG" placeholder:"FILE" help:"Native nats-server configuration for the server inside the process: TLS, accounts, cluster routes, leaf nodes."`
	// Sync says when commits are written through to the disk.
	Sync Sync `default:"always" env:"ZLINK_SYNC" help:"When commits reach the disk: 'always' before they are acknowledged, or once in a period, which a power cut may cost."`
}

// maxReplicas is what a NATS stream can have.
const maxReplicas = 5

// maxBucket bounds the length of a bucket's name. The subject of a row holds it
// besides the row's key, and both have to fit into one NATS protocol line.
const maxBucket = 64

// Validate returns an [*InvalidError] for the first setting of c's own fields
// that is out of range.
func (c *Config) Validate() error {
	if c.HTTP != Off {
		if err := checkAddress("http", c.HTTP, "HOST:PORT or off"); err != nil {
			return err
		}
	}
	if err := atLeast("await-timeout", c.AwaitTimeout, time.Millisecond); err != nil {
		return err
	}
	if err := atLeast("request-timeout", c.RequestTimeout, time.Millisecond); err != nil {
		return err
	}
	if err := atLeast("changes-retention", c.ChangesRetention, time.Second); err != nil {
		return err
	}
	if err := atLeast("startup-timeout", c.StartupTimeout, 0); err != nil {
		return err
	}
	return atLeast("shutdown-timeout", c.ShutdownTimeout, 0)
}

// Validate returns an [*InvalidError] for the first setting out of range.
func (s *Store) Validate() error {
	if len(s.Bucket) > maxBucket || !isName(s.Bucket) {
		return &InvalidError{"bucket", s.Bucket, "1 to 64 of A-Z a-z 0-9 - _"}
	}
	return between("replicas", s.Replicas, 1, maxReplicas)
}

// Validate returns an [*InvalidError] for the first setting out of range.
func (e *Embedded) Validate() error {
	if e.Data == "" {
		return &InvalidError{"data", e.Data, "a directory"}
	}
	return checkAddress("listen", e.Listen, "HOST:PORT")
}
