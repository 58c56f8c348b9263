package wire

// OwnerRemoveAllRequest is the request of owner.remove-all.
type OwnerRemoveAllRequest struct {
	Owner OwnerToken `json:"owner"` // whose rows to remove; nothing is removed unless it is live
}

// OwnerRemoveAllReply is the reply of owner.remove-all.
type OwnerRemoveAllReply struct {
	Removed uint32 `json:"removed"` // rows removed, even if the deadline came before the last one
}
