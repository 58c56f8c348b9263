package client

import (
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// pageItems is the size of a page where the request has none.
const pageItems = 100

// pages lists the items of one page after the other: turn returns the page of a token, and the next page's token, which is empty
// on the last one.
func pages[Item any](turn func(token string) ([]Item, string, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for token := ""; ; {
			items, next, err := turn(token)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

// expired makes an error of the result that the lists have that go by cursors.
func expired(op subjects.Operation) error {
	return &Error{Op: string(op), Code: wire.CodeScanExpired, Message: "the cursor leads nowhere any more: begin again"}
}
