package domaintest_test

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// command is one request, which can be made to any store.
type command struct {
	name    string
	request any
	invalid error // what the request's check says; there is never anything
	do      func(ctx context.Context, s kvstore.Store, atLeast kvstore.Revision) answer
}

// answer is what a command tells its caller.
type answer struct {
	Reply    any // nil with an error
	Revision kvstore.Revision
	Err      error
}

// changing is a command that is a transaction.
func changing[Q, R any](name string, validate func(*Q) error, rule func(*kvstore.Tx, *Q) (*R, error), req *Q) command {
	return command{name, req, validate(req), func(ctx context.Context, s kvstore.Store, _ kvstore.Revision) answer {
		var reply *R
		rev, err := s.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
			reply, err = rule(tx, req)
			return err
		})
		if err != nil { // the store may still be busy with the closure
			return answer{nil, rev, err}
		}
		return answer{reply, rev, nil}
	}}
}

// stepping is a command of as many transactions as it takes.
func stepping[Q, B, R any](
	name string, validate func(*Q) error, bind func(*Q) (*B, error), rule func(*kvstore.Tx, *B) (*R, error), req *Q,
) command {
	return command{name, req, validate(req), func(ctx context.Context, s kvstore.Store, atLeast kvstore.Revision) answer {
		bound, err := bind(req)
		if err != nil {
			return answer{Err: err}
		}
		for {
			a := changing(name, func(*B) error { return nil }, rule, bound).do(ctx, s, atLeast)
			if reply, _ := a.Reply.(*R); a.Err != nil || reply != nil {
				return a
			}
		}
	}}
}

// asking is a command that reads a view of at least some revision.
func asking[Q, R any](name string, validate func(*Q) error, rule func(kvstore.View, *Q) (R, error), req *Q) command {
	return command{name, req, validate(req), func(ctx context.Context, s kvstore.Store, atLeast kvstore.Revision) answer {
		v, err := s.View(ctx, kvstore.ReadOptions{MinRevision: atLeast})
		if err != nil {
			return answer{Err: err}
		}
		reply, err := rule(v, req)
		if err != nil {
			return answer{nil, v.Revision(), err}
		}
		return answer{reply, v.Revision(), nil}
	}}
}

// list is a rule that makes pages.
type list[Q, I any] func(kvstore.View, *Q, kvstore.Key, domain.Page) ([]I, kvstore.Key, error)

// whole lists everything in pages of some size.
func (l list[Q, I]) whole(v kvstore.View, req *Q, size uint32) (items []I, err error) {
	for after := kvstore.Key(""); ; {
		page, next, err := l(v, req, after, domain.Page{Items: size})
		items = append(items, page...)
		if err != nil || next == "" {
			return items, err
		}
		after = next
	}
}

// listing is a command that lists everything in pages of some size.
func listing[Q, I any](name string, validate func(*Q) error, l list[Q, I], req *Q, size uint32) command {
	return asking(name, validate, func(v kvstore.View, req *Q) ([]I, error) { return l.whole(v, req, size) }, req)
}

// removing removes all rows of an owner in commits of so many.
func removing(owner wire.OwnerToken, limit int) command {
	req := &wire.OwnerRemoveAllRequest{Owner: owner}
	do := func(ctx context.Context, s kvstore.Store, _ kvstore.Revision) answer {
		for total := 0; ; {
			var removed int
			var more bool
			rev, err := s.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
				removed, more, err = domain.RemoveOwnerBatch(tx, req, limit)
				return err
			})
			if err != nil {
				return answer{nil, rev, err}
			}
			if total += removed; !more {
				return answer{total, rev, nil}
			}
		}
	}
	return command{"owner.remove-all", req, domain.ValidateOwnerRemoveAll(req), do}
}

// sweeping takes some of the rows away whose expiry has come, as every instance does.
func sweeping(limit int) command {
	do := func(ctx context.Context, s kvstore.Store, _ kvstore.Revision) answer {
		var removed int
		rev, err := s.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			removed = 0
			for r := range tx.Expired() {
				if removed == limit {
					break
				}
				if _, err := tx.Expire(r); err != nil {
					return err
				}
				removed++
			}
			return nil
		})
		if err != nil {
			return answer{nil, rev, err}
		}
		return answer{removed, rev, nil}
	}
	return command{"sweep", limit, nil, do}
}

// said is what tells a reply from others: its kind or status, and its reason.
func (a answer) said() string {
	if a.Err != nil {
		return "error"
	}
	v := reflect.Indirect(reflect.ValueOf(a.Reply))
	switch v.Kind() {
	case reflect.Int:
		return atLeastOne(int(v.Int()))
	case reflect.Slice:
		return atLeastOne(v.Len())
	case reflect.Struct:
	default:
		return "nothing"
	}
	var parts []string
	for _, name := range []string{"Kind", "Status", "Reason"} {
		if f := v.FieldByName(name); f.IsValid() && !f.IsZero() {
			parts = append(parts, f.String())
		}
	}
	if stamp := v.FieldByName("Stamp"); stamp.IsValid() {
		parts = append(parts, atLeastOne(int(min(stamp.Uint(), 1))))
	}
	return strings.Join(parts, " ")
}

func atLeastOne(n int) string {
	if n == 0 {
		return strconv.Itoa(n)
	}
	return "some"
}

// snapshots lists the records of objects that a reply shows.
func (a answer) snapshots() (shown []*wire.Authority) {
	switch r := a.Reply.(type) {
	case *wire.ObjectReserveReply:
		shown = []*wire.Authority{r.Creating, r.Current}
	case *wire.ObjectCommitReply:
		shown = []*wire.Authority{r.Ready}
	case *wire.ObjectCompleteCreationReply:
		shown = []*wire.Authority{r.Ready}
	case *wire.AuthorityCompareExchangeReply:
		shown = []*wire.Authority{r.Current}
		if r.Kind == wire.KindStored {
			shown = append(shown, &r.Authority)
		}
	case *wire.Authority:
		shown = []*wire.Authority{r}
	case []wire.AuthorityItem:
		for i := range r {
			shown = append(shown, &r[i].Snapshot)
		}
	}
	return shown
}
