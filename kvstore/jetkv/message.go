package jetkv

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

// Headers of a stored message. The names that begin with Nats- and KV- are the
// server's and the KV tools'; values are exactly the caller's bytes, so what
// belongs to the row besides travels here.
const (
	// headerTxn names the transaction: <instance>.<life>.<number>. All messages of a
	// transaction carry it; it decides what became of a commit whose
	// acknowledgement was lost.
	headerTxn = "Zlink-Txn"
	// headerRequest is the UpdateOptions.Request of the transaction.
	headerRequest = "Zlink-Request"
	// headerExpiry is the row's expiry in milliseconds.
	headerExpiry = "Zlink-Expiry"
	// headerReason is "expired" on the removal of a row whose expiry had come.
	headerReason = "Zlink-Reason"
	// headerForgets is the revision of the tombstone that a purge replaces.
	headerForgets = "Zlink-Forgets"

	headerKVOperation  = "KV-Operation"
	headerMarkerReason = "Nats-Marker-Reason"
	headerRollup       = "Nats-Rollup"
	headerTTL          = "Nats-TTL"

	reasonExpired = "expired"
	opDelete      = "DEL"
	opPurge       = "PURGE"
)

// markerTTL is how long the last trace of a removed row stays. It is far above
// maxAbsence: an instance that was away for longer rebuilds its state instead of
// resuming, since a removal may have left no trace.
const (
	markerTTL  = 7 * 24 * time.Hour
	maxAbsence = 3 * 24 * time.Hour
)

// subjectPrefix is where the rows of a bucket live.
func subjectPrefix(bucket string) string { return "$KV." + bucket + "." }

// encode makes the message of one write. Headers of the group are added later.
func encode(prefix, txn, request string, w kvstore.Write) *nats.Msg {
	m := &nats.Msg{
		Subject: prefix + subjects.KeySubject(string(w.Key)),
		Header:  nats.Header{headerTxn: {txn}},
	}
	if request != "" {
		m.Header[headerRequest] = []string{request}
	}
	switch w.Kind {
	case kvstore.WritePut:
		m.Data = w.Value
		if w.Expiry != 0 {
			m.Header[headerExpiry] = []string{strconv.FormatInt(int64(w.Expiry), 10)}
		}
	case kvstore.WriteDelete:
		m.Header[headerKVOperation] = []string{opDelete}
		if w.Expired {
			m.Header[headerReason] = []string{reasonExpired}
		}
	case kvstore.WriteForget:
		m.Header[headerKVOperation] = []string{opPurge}
		m.Header[headerRollup] = []string{"sub"}
		m.Header[headerTTL] = []string{strconv.Itoa(int(markerTTL / time.Second))}
		m.Header[headerForgets] = []string{w.Forgotten.String()}
	}
	return m
}

// record is one stored message as the follower reads it.
type record struct {
	revision kvstore.Revision
	time     kvstore.Instant
	key      kvstore.Key
	foreign  bool // not a key of ours: the position counts, nothing else
	kind     kvstore.WriteKind
	value    []byte
	expiry   kvstore.Instant
	expired  bool
	forgets  bool // the service's own purge of a removed row
	txn      string
	request  string
	batch    string
	commit   bool // last message of its batch
}

// decode reads a stored message. What other tools wrote is taken as it is.
func decode(prefix, subject string, h nats.Header, data []byte) record {
	r := record{
		value: data, txn: one(h, headerTxn), request: one(h, headerRequest),
		batch: one(h, fenced.HeaderBatchID), commit: one(h, fenced.HeaderBatchCommit) != "",
		expired: one(h, headerReason) == reasonExpired,
	}
	key, err := subjects.SubjectKey(strings.TrimPrefix(subject, prefix))
	if err != nil || len(key) > kvstore.MaxKeyBytes {
		r.foreign = true
		return r
	}
	r.key = kvstore.Key(key)
	if ms, err := strconv.ParseInt(one(h, headerExpiry), 10, 64); err == nil {
		r.expiry = kvstore.Instant(ms)
	}
	switch op := one(h, headerKVOperation); {
	case op == opPurge:
		r.kind, r.forgets = kvstore.WriteForget, one(h, headerForgets) != ""
	case op == opDelete, one(h, headerMarkerReason) != "":
		r.kind = kvstore.WriteDelete
	}
	return r
}

// one reads a header without the canonical form that Header.Get tries.
func one(h nats.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// writer is the instance part of a transaction id.
func writer(txn string) string {
	instance, _, named := strings.Cut(txn, ".")
	if !named {
		return ""
	}
	return instance
}

// apply carries the record out on a state and returns its entry, if it has one.
func (r record) apply(s *kvstore.State) (kvstore.Entry, bool) {
	switch {
	case r.foreign:
		s.Advance(r.revision)
		return kvstore.Entry{}, false
	case r.kind == kvstore.WritePut:
		return s.Put(&kvstore.Row{Key: r.key, Value: r.value, Revision: r.revision, Expiry: r.expiry}), true
	case r.kind == kvstore.WriteForget && r.forgets:
		s.Forget(r.key, r.revision)
		return kvstore.Entry{}, false
	case r.kind == kvstore.WriteForget: // purged by another tool: a removal like any other
		return s.Delete(r.key, r.revision, false), true
	default:
		e := s.Delete(r.key, r.revision, true)
		e.Expired = r.expired
		return e, true
	}
}
