package domain

// Hooks for the tests of transfers.
var (
	DecodeTransfer = decodeTransfer
	SameTransfer   = sameTransfer
)
