package subjects

import (
	"fmt"
	"slices"
	"strings"
)

// ChangeKind says what sort of row a pushed change is about.
type ChangeKind string

// The kinds of changes, with what their scope and id are.
const (
	ChangeMeshNode        ChangeKind = "mesh-node"        // mesh, RID
	ChangeClientServer    ChangeKind = "client-server"    // channel, RID
	ChangeFanoutPublisher ChangeKind = "fanout-publisher" // channel, RID
	ChangePeer            ChangeKind = "peer"             // mesh, RID or, without one, endpoint
	ChangeSpot            ChangeKind = "spot"             // mesh, spot id
	ChangeActor           ChangeKind = "actor"            // mesh, actor id
	ChangeRoute           ChangeKind = "route"            // route kind, route key
	ChangeAuthority       ChangeKind = "authority"        // "actor" or "spot", global id
	ChangeOwnerLease      ChangeKind = "owner-lease"      // OwnerScope, owner id
)

// OwnerScope is the scope of every change of an owner lease.
const OwnerScope = "owner"

var changeKinds = []ChangeKind{
	ChangeMeshNode, ChangeClientServer, ChangeFanoutPublisher, ChangePeer, ChangeSpot,
	ChangeActor, ChangeRoute, ChangeAuthority, ChangeOwnerLease,
}

// ChangeKinds returns every kind of change. The caller owns the slice.
func ChangeKinds() []ChangeKind { return slices.Clone(changeKinds) }

// Valid tells whether k is a kind of the protocol.
func (k ChangeKind) Valid() bool { return slices.Contains(changeKinds, k) }

// Change is what the subject of a pushed change says.
type Change struct {
	Kind  ChangeKind // what sort of row
	Scope string     // the mesh, the channel or what else the kind is divided by; any bytes
	ID    string     // the row within its scope; any bytes
}

// changesToken follows the prefix in the subject of every change.
const changesToken = ".changes."

// Change returns the subject on which the changes of one row are pushed: "<prefix>.changes.<kind>.<scope>.<id>". Scope and id
// may be any bytes.
func (p Prefix) Change(kind ChangeKind, scope, id string) string {
	return string(p) + changesToken + string(kind) + "." + EncodeToken(scope) + "." + EncodeToken(id)
}

// ChangesWildcard returns the subject to subscribe to for the changes of a kind, scope and id, each of which may be empty and
// then stands for all.
func (p Prefix) ChangesWildcard(kind ChangeKind, scope, id string) string {
	token := func(text string) string {
		if text == "" {
			return "*"
		}
		return EncodeToken(text)
	}
	return string(p) + changesToken + token(string(kind)) + "." + token(scope) + "." + token(id)
}

// ParseChange reads a subject written by [Prefix.Change] and refuses every other text.
func (p Prefix) ParseChange(subject string) (Change, error) {
	refuse := func(err error) (Change, error) {
		return Change{}, fmt.Errorf("read change subject %q: %w", subject[:min(len(subject), shownMax)], err)
	}
	rest, ok := strings.CutPrefix(subject, string(p)+changesToken)
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 {
		return refuse(fmt.Errorf("want %s%s<kind>.<scope>.<id>", p, changesToken))
	}
	kind := ChangeKind(tokens[0])
	if !kind.Valid() {
		return refuse(fmt.Errorf("unknown kind %q", kind))
	}
	scope, err := DecodeToken(tokens[1])
	if err != nil {
		return refuse(err)
	}
	id, err := DecodeToken(tokens[2])
	if err != nil {
		return refuse(err)
	}
	return Change{Kind: kind, Scope: scope, ID: id}, nil
}
