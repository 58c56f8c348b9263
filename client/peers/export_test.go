package peers

// Same tells whether a connection to a is one to b.
func Same(a, b Target) bool { return a.same(b) }
