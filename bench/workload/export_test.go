package workload

// ErrConflict lets tests tell a lost condition from a broken peer.
var ErrConflict = errConflict
