package domain

// Hooks for the tests of this package, which are outside of it.
var (
	DecodeLease       = decodeLease
	DecodeMeshNode    = decodeMeshNode
	SameMeshNode      = sameMeshNode
	RenewableMeshNode = renewableMeshNode
)

// RoomBytes is what the items of a page may take.
const RoomBytes = MaxPageBytes - pageHeadBytes
