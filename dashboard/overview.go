package dashboard

import "time"

// Overview is how an instance and its directory are at one moment. All texts are as
// people can read them: ids of any bytes were quoted.
type Overview struct {
	Level    Level     `json:"level"`    // worst of what follows
	Problems []Problem `json:"problems"` // worst first; empty when all is well
	Instance string    `json:"instance"` // id
	Version  string    `json:"version"`  // of the program
	Time     time.Time `json:"time"`     // of this machine
	// Directory is absent while the instance takes no requests.
	Directory *Directory `json:"directory,omitempty"`
}

// Level says how soon somebody has to look.
type Level string

// The levels, from harmless to urgent.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelBad  Level = "bad"
)

// Problem is something to look at.
type Problem struct {
	Level Level  `json:"level"` // LevelWarn or LevelBad
	Text  string `json:"text"`
}

// Directory is what the instance sees of the store.
type Directory struct {
	Facts      []Fact      `json:"facts"`      // in the order of the page
	Rows       []Count     `json:"rows"`       // by family, the opaque ones and those of the store itself among them
	Meshes     []Mesh      `json:"meshes"`     // those with problems first
	MoreMeshes int         `json:"moreMeshes"` // that are not in Meshes
	Nodes      []Node      `json:"nodes"`      // those with problems first, then the fullest
	MoreNodes  int         `json:"moreNodes"`  // that are not in Nodes
	Operations []Operation `json:"operations"` // that were asked for, the most frequent first
	Window     float64     `json:"windowSeconds"`
}

// Fact is a figure and its name.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Count is a number of things of a sort.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Mesh is a mesh and the numbers of its nodes.
type Mesh struct {
	Name  string `json:"name"`
	Ready uint32 `json:"ready"`
	Error uint32 `json:"error"` // live, in state error
	Lost  uint32 `json:"lost"`  // with an owner whose lease is over
	Total uint32 `json:"total"`
}

// Node is a node of a mesh.
type Node struct {
	Mesh     string `json:"mesh"`
	RID      string `json:"rid"`
	Endpoint string `json:"endpoint"`
	Owner    string `json:"owner"`
	State    string `json:"state"` // that of its descriptor, or "lost"
	Level    Level  `json:"level"`
	Actors   Usage  `json:"actors"`
	Spots    Usage  `json:"spots"`
}

// Usage is how much of a limit is used.
type Usage struct {
	Used  uint64 `json:"used"`  // active and reserved
	Limit uint32 `json:"limit"` // 0 is none
}

// Full tells whether there is no room left.
func (u Usage) Full() bool { return u.Limit > 0 && u.Used >= uint64(u.Limit) }

// High is the use from which a bar warns.
func (u Usage) High() float64 { return 0.8 * float64(u.Limit) }

// Operation is what was asked of the instance.
type Operation struct {
	Name      string  `json:"name"`
	PerSecond float64 `json:"perSecond"` // requests in the window
	Errors    uint64  `json:"errors"`    // refusals and failures in the window
	AllErrors uint64  `json:"allErrors"` // since the start
	MeanMs    float64 `json:"meanMs"`    // from arrival to reply, in the window; 0 without requests
}
