package memkv_test

import (
	"errors"
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/kvstore/memkv"
)

func TestStore(t *testing.T) {
	t.Parallel()
	kvtest.Run(t, kvtest.Backend{
		Create: func(_ testing.TB, c kvtest.Config) func() kvstore.Store {
			s := memkv.New(memkv.Options{Schema: c.Schema, Clock: c.Clock, Start: c.Start})
			return func() kvstore.Store { return s }
		},
	})
}

func TestFail(t *testing.T) {
	t.Parallel()
	s := memkv.New(memkv.Options{})
	down := errors.New("down")
	s.Fail(down)
	update := func() error {
		_, err := s.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			_, err := tx.Put("k", nil, 0)
			return err
		})
		return err
	}
	if err := update(); !errors.Is(err, down) {
		t.Errorf("Update: got %v, want the failure", err)
	}
	if _, err := s.View(t.Context(), kvstore.ReadOptions{}); !errors.Is(err, down) {
		t.Errorf("View: got %v, want the failure", err)
	}
	if st := s.Status(); st.LastError != "down" || st.HealthyAt != 0 {
		t.Errorf("status %+v", st)
	}
	s.Fail(nil)
	if err := update(); err != nil || s.Status().Revision != 1 || s.Status().LastError != "" {
		t.Errorf("after the failure: %v, status %+v", err, s.Status())
	}
	if l := s.Limits(); l.CommitRows != kvstore.DefaultCommitRows || l.RowBytes != 0 || s.Writer() != "" {
		t.Errorf("limits %+v, writer %q", l, s.Writer())
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	kvtest.Run(t, kvtest.Backend{
		Create: func(_ testing.TB, c kvtest.Config) func() kvstore.Store {
			s := memkv.New(memkv.Options{
				Schema: c.Schema, Clock: c.Clock, Start: c.Start,
				Limits: kvstore.Limits{CommitRows: 50, RowBytes: 2 << 20},
			})
			return func() kvstore.Store { return s }
		},
	})
}
