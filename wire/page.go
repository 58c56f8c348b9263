package wire

// PageRequest is what every request of a list holds besides its filter.
type PageRequest struct {
	PageSize          uint32 `json:"pageSize,omitzero"`          // greatest number of items, 1..1000; absent is 100
	ContinuationToken string `json:"continuationToken,omitzero"` // of the page before, 1..4096 bytes; absent is the first page
	LiveOnly          bool   `json:"liveOnly,omitzero"`          // leave out rows whose owner is not live
}

// Page is what every reply of a list holds besides its items. All pages of one list show the same instant.
type Page struct {
	ContinuationToken string   `json:"continuationToken,omitzero"` // asks for the next page; absent on the last one
	Revision          Revision `json:"revision"`                   // the state that the list shows
	StoreNow          Instant  `json:"storeNow"`                   // the instant at which live was judged
}

// RowState is what a listed or resolved row has besides its own fields. Written by the service.
type RowState struct {
	Live    bool    `json:"live"`    // whether the row's owner token is live
	Version Version `json:"version"` // store version of the row
}
