package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/wire"
)

// nodeFlags say what a node is.
type nodeFlags struct {
	Mesh        string     `required:"" env:"ZLINK_MESH" help:"Mesh that the node is part of."`
	RID         string     `name:"rid" required:"" env:"ZLINK_RID" help:"Routing id of the node, which no other node of the mesh has."`
	Endpoint    string     `required:"" env:"ZLINK_ENDPOINT" help:"Where others reach the node, such as tcp://10.0.0.7:7000."`
	Owner       string     `env:"ZLINK_OWNER" help:"Owner whose lease is held; without it a random one."`
	Role        string     `default:"server" enum:"none,client,server" env:"ZLINK_ROLE" help:"What the node is for objects: none, client or server. Objects are placed on servers."`
	Weight      uint32     `default:"100" env:"ZLINK_WEIGHT" help:"How often the node is chosen compared to others, 0 to 10000; 0 is never."`
	LimitActors uint32     `default:"0" env:"ZLINK_LIMIT_ACTORS" help:"Greatest number of actors; 0 is no limit."`
	LimitSpots  uint32     `default:"0" env:"ZLINK_LIMIT_SPOTS" help:"Greatest number of spots; 0 is no limit."`
	SpotType    []spotType `sep:"none" env:"ZLINK_SPOT_TYPE" placeholder:"KIND:TYPE[:LIMIT]" help:"Spots that are placed on the node: userSpot or instanceSpot, their type, and how many at most. Can be given several times."`
	ActorType   []string   `sep:"none" env:"ZLINK_ACTOR_TYPE" placeholder:"TYPE" help:"Actors that are placed on the node, if not all. Can be given several times."`
}

const (
	mostWeight     = 10_000
	mostIdentifier = 255
	mostEndpoint   = 1024
	// activations is how many objects the node says it creates at a time; nothing depends on it in the directory.
	activations = 64
)

// spotType is a value of --spot-type.
type spotType struct {
	kind  wire.SpotObjectKind
	name  string
	limit uint32
}

// UnmarshalText reads KIND:TYPE[:LIMIT]. A type may hold colons if there is a limit behind it.
func (s *spotType) UnmarshalText(text []byte) error {
	kind, rest, found := strings.Cut(string(text), ":")
	s.kind = wire.SpotObjectKind(kind)
	if !s.kind.Valid() || !found {
		return fmt.Errorf("got %q, want KIND:TYPE[:LIMIT] with a KIND of %s", text, strings.Join(s.kind.Values(), " or "))
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		limit, err := strconv.ParseUint(rest[i+1:], 10, 31)
		if err != nil {
			return fmt.Errorf("got %q, want a LIMIT of 0 to %d behind the last colon", text, math.MaxInt32)
		}
		rest, s.limit = rest[:i], uint32(limit)
	}
	if s.name = rest; !isIdentifier(rest) {
		return fmt.Errorf("got %q, want a TYPE of 1 to %d bytes", text, mostIdentifier)
	}
	return nil
}

// isIdentifier tells whether the service takes a text for an id.
func isIdentifier(s string) bool {
	return s != "" && len(s) <= mostIdentifier && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// check names the flag that is out of range.
func (f *nodeFlags) check() error {
	const identifier = "1 to 255 bytes of text"
	switch {
	case !isIdentifier(f.Mesh):
		return &config.InvalidError{Field: "mesh", Got: f.Mesh, Want: identifier}
	case f.RID == "" || len(f.RID) > mostIdentifier:
		return &config.InvalidError{Field: "rid", Got: f.RID, Want: "1 to 255 bytes"}
	case f.Endpoint == "" || len(f.Endpoint) > mostEndpoint:
		return &config.InvalidError{Field: "endpoint", Got: f.Endpoint, Want: "1 to 1024 bytes"}
	case f.Owner != "" && !isIdentifier(f.Owner):
		return &config.InvalidError{Field: "owner", Got: f.Owner, Want: identifier}
	case f.Weight > mostWeight:
		return &config.InvalidError{Field: "weight", Got: strconv.Itoa(int(f.Weight)), Want: "0 to 10000"}
	case f.LimitActors > math.MaxInt32:
		return &config.InvalidError{Field: "limit-actors", Got: strconv.Itoa(int(f.LimitActors)), Want: "0 to 2147483647"}
	case f.LimitSpots > math.MaxInt32:
		return &config.InvalidError{Field: "limit-spots", Got: strconv.Itoa(int(f.LimitSpots)), Want: "0 to 2147483647"}
	case len(f.ActorType) > 0 && wire.ObjectRole(f.Role) != wire.RoleServer:
		return &config.InvalidError{Field: "actor-type", Got: f.ActorType[0], Want: "none unless --role is server"}
	}
	for _, t := range f.ActorType {
		if !isIdentifier(t) {
			return &config.InvalidError{Field: "actor-type", Got: t, Want: identifier}
		}
	}
	seen := make(map[spotType]bool)
	for _, s := range f.SpotType {
		s.limit = 0
		if seen[s] {
			return &config.InvalidError{Field: "spot-type", Got: string(s.kind) + ":" + s.name, Want: "each type once"}
		}
		seen[s] = true
	}
	return nil
}

// descriptor is that of the node.
func (f *nodeFlags) descriptor() wire.MeshNodeDescriptor {
	d := wire.MeshNodeDescriptor{
		MeshName: f.Mesh, RID: wire.RID(f.RID), Endpoint: f.Endpoint, ObjectRole: wire.ObjectRole(f.Role), PlacementWeight: f.Weight,
		PopulationCapacity: wire.PopulationCapacity{
			Actors: wire.Usage{Limit: f.LimitActors}, Spots: wire.Usage{Limit: f.LimitSpots},
		},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: activations}, State: wire.StateServing, SecurityIdentity: f.Owner,
	}
	for _, s := range f.SpotType {
		c := &d.PopulationCapacity
		c.SpotTypes = append(c.SpotTypes, wire.SpotTypeUsage{ObjectKind: s.kind, StableType: s.name, Usage: wire.Usage{Limit: s.limit}})
		if !slices.Contains(d.SpotTypes, s.name) {
			d.SpotTypes = append(d.SpotTypes, s.name)
		}
	}
	if len(f.ActorType) > 0 { // without any, the node is capable of everything that it has room for
		d.ObjectCapabilities = f.capabilities()
	}
	return d
}

// capabilities are the types of objects that the node takes.
func (f *nodeFlags) capabilities() []wire.ObjectCapability {
	var list []wire.ObjectCapability
	for _, t := range slices.Compact(slices.Sorted(slices.Values(f.ActorType))) {
		list = append(list, wire.ObjectCapability{ObjectKind: wire.ObjectActor, StableType: t, Policy: wire.PolicyDisabled})
	}
	for _, s := range f.SpotType {
		list = append(list, wire.ObjectCapability{
			ObjectKind: wire.ObjectKind(s.kind), StableType: s.name, Policy: wire.PolicyDisabled, Limit: s.limit,
		})
	}
	return list
}
