package domain

// Hooks for the tests of what the creation of objects stores.
var (
	DecodeTerminal  = decodeTerminal
	DecodeAbortMark = decodeAbortMark
	AbortMarkKey    = abortMarkKey
)
