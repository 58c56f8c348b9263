package wire

import "slices"

// ObjectRole says what part a node plays for objects.
type ObjectRole string

// The values of [ObjectRole].
const (
	RoleNone   ObjectRole = "none"   // none
	RoleClient ObjectRole = "client" // it uses objects
	RoleServer ObjectRole = "server" // it hosts objects
)

// Values implements [Enum].
func (ObjectRole) Values() []string {
	return []string{
		string(RoleNone),
		string(RoleClient),
		string(RoleServer),
	}
}

// Valid tells whether r is a value of the protocol.
func (r ObjectRole) Valid() bool { return slices.Contains(r.Values(), string(r)) }

// NodeState is where a node stands in its life.
type NodeState string

// The values of [NodeState].
const (
	StatePreparing  NodeState = "preparing"
	StateServing    NodeState = "serving" // the only state in which objects are placed on it
	StateRelocating NodeState = "relocating"
	StateRelocated  NodeState = "relocated"
	StateDraining   NodeState = "draining"
	StateStopped    NodeState = "stopped"
	StateError      NodeState = "error"
)

// Values implements [Enum].
func (NodeState) Values() []string {
	return []string{
		string(StatePreparing),
		string(StateServing),
		string(StateRelocating),
		string(StateRelocated),
		string(StateDraining),
		string(StateStopped),
		string(StateError),
	}
}

// Valid tells whether s is a value of the protocol.
func (s NodeState) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// ObjectKind is a sort of object.
type ObjectKind string

// The values of [ObjectKind].
const (
	ObjectActor        ObjectKind = "actor"
	ObjectUserSpot     ObjectKind = "userSpot"
	ObjectInstanceSpot ObjectKind = "instanceSpot"
)

// Values implements [Enum].
func (ObjectKind) Values() []string {
	return []string{
		string(ObjectActor),
		string(ObjectUserSpot),
		string(ObjectInstanceSpot),
	}
}

// Valid tells whether k is a value of the protocol.
func (k ObjectKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// SpotObjectKind is an [ObjectKind] that is a spot.
type SpotObjectKind string

// The values of [SpotObjectKind].
const (
	SpotUser     SpotObjectKind = "userSpot"     // the same as ObjectUserSpot
	SpotInstance SpotObjectKind = "instanceSpot" // the same as ObjectInstanceSpot
)

// Values implements [Enum].
func (SpotObjectKind) Values() []string {
	return []string{
		string(SpotUser),
		string(SpotInstance),
	}
}

// Valid tells whether k is a value of the protocol.
func (k SpotObjectKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// RelocationPolicy says how an object moves to another node.
type RelocationPolicy string

// The values of [RelocationPolicy].
const (
	PolicyDisabled RelocationPolicy = "disabled" // not at all
	PolicyRecreate RelocationPolicy = "recreate" // it is created anew
	PolicySnapshot RelocationPolicy = "snapshot" // with its state, by a snapshot adapter
)

// Values implements [Enum].
func (RelocationPolicy) Values() []string {
	return []string{
		string(PolicyDisabled),
		string(PolicyRecreate),
		string(PolicySnapshot),
	}
}

// Valid tells whether p is a value of the protocol.
func (p RelocationPolicy) Valid() bool { return slices.Contains(p.Values(), string(p)) }
