package kvtest

import (
	"context"
	"errors"
	"sync"

	"github.com/zlink/zlink-nats/kvstore"
)

var callPromises = []promise{
	{name: "CallersWhoseTimeIsOverWriteNothing", test: endedCallers},
	{name: "CallersWhoGiveUpInTheQueueWriteNothing", test: cancelledCallers},
	{name: "PanicsReachTheirCallerOnly", test: panics},
	{name: "ViewsWaitForRevisions", test: viewsWait},
	{name: "StatusTellsTheRevision", test: status},
}

func endedCallers(e *env) {
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	_, err := e.store.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(Key("a", "1"), nil, 0)
		return err
	})
	e.wantDeadline(err)
	if v := e.view(e.store, 0); v.Revision() != e.start {
		e.Errorf("store has revision %d, want %d", v.Revision(), e.start)
	}
}

func (e *env) wantDeadline(err error) {
	e.Helper()
	if !errors.Is(err, kvstore.ErrDeadline) || !errors.Is(err, context.Canceled) {
		e.Errorf("got %v, want ErrDeadline with its cause", err)
	}
}

// cancelledCallers: one closure holds the store up while others wait for it and
// then leave; those between them stay.
func cancelledCallers(e *env) {
	started, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		e.update(e.store, func(*kvstore.Tx) error {
			once.Do(func() { close(started) })
			<-goOn
			return nil
		})
	})
	<-started
	ctx, cancel := context.WithCancel(e.ctx())
	const callers = 20
	for i := range callers {
		wg.Go(func() {
			if i%2 == 0 {
				e.put(e.store, Key("stay", string(rune('a'+i))), "x", 0)
				return
			}
			_, err := e.store.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
				_, err := tx.Put(Key("leave", string(rune('a'+i))), nil, 0)
				return err
			})
			e.wantDeadline(err)
		})
	}
	cancel()
	close(goOn)
	wg.Wait()
	v := e.view(e.store, 0)
	if got := len(keys(v.Scan(kvstore.Prefix(Family, "stay"), ""))); got != callers/2 {
		e.Errorf("%d rows of the callers who stayed, want %d", got, callers/2)
	}
	if got := keys(v.Scan(kvstore.Prefix(Family, "leave"), "")); len(got) != 0 {
		e.Errorf("rows of callers who left: %q", got)
	}
}

func panics(e *env) {
	const callers = 12
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if i%2 == 0 {
				e.put(e.store, Key("a", string(rune('a'+i))), "x", 0)
				return
			}
			defer func() {
				if got := recover(); got != i {
					e.Errorf("caller %d recovered %v", i, got)
				}
			}()
			_, err := e.store.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
				if _, err := tx.Put(Key("b", "1"), nil, 0); err != nil {
					return err
				}
				panic(i)
			})
			e.Errorf("caller %d got %v instead of its panic", i, err)
		})
	}
	wg.Wait()
	v := e.view(e.store, 0)
	if got := v.State().Rows(); got != callers/2 {
		e.Errorf("%d rows, want %d", got, callers/2)
	}
}

func viewsWait(e *env) {
	target := e.start + 5
	var wg sync.WaitGroup
	for _, s := range e.instances() {
		wg.Go(func() {
			v, err := s.View(e.ctx(), kvstore.ReadOptions{MinRevision: target})
			if err != nil || v.Revision() < target {
				e.Errorf("waiting for revision %d: %v", target, err)
			}
		})
	}
	for range 5 {
		e.put(e.store, Key("a", "1"), "x", 0)
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(e.Context())
	wg.Go(func() {
		_, err := e.store.View(ctx, kvstore.ReadOptions{MinRevision: target + 1})
		e.wantDeadline(err)
	})
	cancel()
	wg.Wait()
}

func status(e *env) {
	rev := e.put(e.store, Key("a", "1"), "x", 0)
	st := e.store.Status()
	if st.Revision != rev || st.LastError != "" || st.HealthyAt == 0 || st.HealthyAt > e.clock.Now() {
		e.Errorf("status %+v at revision %d", st, rev)
	}
	if st.Server.Name == "" || st.Server.Replicas < 1 {
		e.Errorf("server %+v", st.Server)
	}
	if l := e.store.Limits(); l.CommitRows < 1 {
		e.Errorf("limits %+v", l)
	}
}
