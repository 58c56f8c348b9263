package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// errExceeded is why a request is given up whose time is over.
var errExceeded = errors.New("exceeded")

// answer is what became of a request.
type answer[T any] struct {
	reply T
	err   error
}

// within makes a request that has the time d. It returns when that is over, or ctx ends, even when ask does not obey; the end of
// ctx does not end the request. A reply for which it is too late is handed to late, if there is one.
func within[T any](ctx context.Context, op string, d time.Duration, ask func(context.Context) (T, error), late func(T)) (T, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	answers := make(chan answer[T], 1)
	var decided atomic.Bool // that there is an answer, or that nobody waits for one
	go func() {
		defer cancel()
		reply, err := ask(asking)
		switch {
		case decided.CompareAndSwap(false, true):
			answers <- answer[T]{reply, err}
		case err == nil && late != nil:
			late(reply)
		}
	}()
	var err error
	select {
	case a := <-answers:
		return a.reply, overdue(asking, op, d, a.err)
	case <-asking.Done():
		err = overdue(asking, op, d, asking.Err())
	case <-ctx.Done():
		err = ctx.Err()
	}
	if decided.CompareAndSwap(false, true) {
		var none T
		return none, err
	}
	a := <-answers
	return a.reply, overdue(asking, op, d, a.err)
}

// overdue makes an error say so when the time of a request was over.
func overdue(asking context.Context, op string, d time.Duration, err error) error {
	if err != nil && errors.Is(asking.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s %w %dms: %w", op, errExceeded, d.Milliseconds(), err)
	}
	return err
}
