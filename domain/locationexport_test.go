package domain

// Hooks for the tests of location rows.
var (
	DecodePeer  = peers.decode
	DecodeSpot  = spots.decode
	DecodeActor = actors.decode
	DecodeRoute = routes.decode
	SamePeer    = peers.same
	SameSpot    = spots.same
	SameActor   = actors.same
	SameRoute   = routes.same
)
