package subjects

import (
	"fmt"
	"strings"
)

const (
	// DefaultPrefix is the prefix of every subject of the service unless its configuration says otherwise.
	DefaultPrefix Prefix = "zlink.v1"

	// ServiceName is the name under which the service registers with the NATS micro-service framework.
	ServiceName = "zlink"

	// ChangesStream is the JetStream stream that keeps the pushed changes.
	ChangesStream = "ZLINK_CHANGES"

	// maxPrefix is the greatest length of a prefix in bytes. The longest subject below it, the change of a peer with a mesh name
	// of 255 bytes and an endpoint of 1,024, all escaped, then leaves a hundred of the 4,096 bytes of a NATS protocol line.
	maxPrefix = 128
)

// Prefix is what every subject of one deployment begins with: one token or more, without the dot at the end.
type Prefix string

// ValidatePrefix tells why prefix cannot be the prefix of a deployment, or returns nil. A prefix is 1..128 bytes, in tokens of
// A-Z a-z 0-9 - _ joined by single dots.
func ValidatePrefix(prefix string) error {
	if len(prefix) > maxPrefix {
		return fmt.Errorf("subject prefix of %d bytes: at most %d are allowed", len(prefix), maxPrefix)
	}
	for token := range strings.SplitSeq(prefix, ".") {
		if token == "" || escapes(token) > 0 {
			return fmt.Errorf("subject prefix %q: tokens of A-Z a-z 0-9 - _ joined by single dots are allowed", prefix)
		}
	}
	return nil
}

// Group returns the subject below which the operations of a group lie: "<prefix>.<group>".
func (p Prefix) Group(group string) string { return string(p) + "." + group }

// Operation returns the subject of requests for op that any instance may answer: "<prefix>.<group>.<verb>".
func (p Prefix) Operation(op Operation) string { return string(p) + "." + string(op) }

// Instance returns the subject of requests for op that only the named instance answers:
// "<prefix>.instance.<instance id>.<group>.<verb>". The id may be any text.
func (p Prefix) Instance(instanceID string, op Operation) string {
	return p.InstancePrefix(instanceID).Operation(op)
}

// InstancePrefix returns what the subjects begin with that only the named instance answers on.
func (p Prefix) InstancePrefix(instanceID string) Prefix {
	return p + ".instance." + Prefix(EncodeToken(instanceID))
}
