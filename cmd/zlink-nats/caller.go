package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// caller asks the service.
type caller struct {
	*link
	config *config.Client
}

// newCaller connects; the caller's user closes it.
func newCaller(c *config.Client) (*caller, error) {
	l, err := dial(&c.Connection)
	if err != nil {
		return nil, err
	}
	return &caller{link: l, config: c}, nil
}

// ask sends a request and reads the reply.
func (c *caller) ask(op subjects.Operation, request, reply any) error {
	raw, err := c.askRaw(op, request)
	if err != nil {
		return err
	}
	return understand(raw, reply)
}

func (c *caller) askRaw(op subjects.Operation, request any) ([]byte, error) {
	text, err := wire.Marshal(wire.JSON, request)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("this cannot be asked: %v", err)}
	}
	return exchange(c.link, c.config, op, text)
}

// understand reads a reply, or a part of one, as this version of the program knows it.
func understand(text []byte, v any) error {
	if err := wire.UnmarshalLenient(wire.JSON, text, v); err != nil {
		return fmt.Errorf("the reply of the service is not understood (%w): use the version of zlink-nats that it runs, or 'zlink-nats call', which prints whatever comes", err)
	}
	return nil
}

// listing is a list to be read page by page.
type listing struct {
	op      subjects.Operation
	request func(wire.PageRequest) any // that of a page
	live    bool                       // leave out rows whose owner is not live
	limit   int                        // greatest number of items to read; 0 is all
}

// maxPage is the most items that a page can have.
const maxPage = 1000

// items returns the items of a list as the service writes them. The sequence ends
// with the first error.
func (c *caller) items(l listing) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		page := wire.PageRequest{PageSize: maxPage, LiveOnly: l.live}
		for left := l.limit; ; {
			if left > 0 {
				page.PageSize = uint32(min(left, maxPage))
			}
			items, next, err := c.page(l.op, l.request(page))
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			left -= len(items)
			if next == "" || l.limit > 0 && left <= 0 {
				return
			}
			page.ContinuationToken = next
		}
	}
}

// page reads one page, of a list in the form of any group of operations.
func (c *caller) page(op subjects.Operation, request any) (items []json.RawMessage, next string, err error) {
	raw, err := c.askRaw(op, request)
	if err != nil {
		return nil, "", err
	}
	var reply struct {
		Kind              wire.Kind
		Items             []json.RawMessage
		ContinuationToken string
		NextCursor        string
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, "", fmt.Errorf("the reply of the service is not a page: %w", err)
	}
	if reply.Kind == wire.KindScanExpired {
		return nil, "", errors.New("scanExpired: the list was lost while it was read, as the instance that had it has ended: run this again")
	}
	return reply.Items, reply.ContinuationToken + reply.NextCursor, nil
}

// each reads the items of a list into a type. The sequence ends with the first error.
func each[Item any](c *caller, l listing) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		for raw, err := range c.items(l) {
			item := new(Item)
			if err == nil {
				err = understand(raw, item)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}
