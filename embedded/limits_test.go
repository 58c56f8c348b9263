package embedded_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/embedded"
)

// batchTooLarge is the server's code for a batch with too many messages.
const batchTooLarge = jetstream.ErrorCode(10199)

// stream makes a stream for batches and returns the connection to it.
func stream(t *testing.T, o embedded.Options) *nats.Conn {
	t.Helper()
	o.Listen, o.Dir = anyPort, t.TempDir()
	nc := connect(t, start(t, o))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, AllowAtomicPublish: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

// publish sends a message to the stream and returns the sequence of the last
// message stored by it.
func publish(t *testing.T, nc *nats.Conn, m *nats.Msg) (uint64, error) {
	t.Helper()
	reply, err := nc.RequestMsg(m, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var ack struct {
		Seq   uint64              `json:"seq"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		t.Fatal(err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Seq, nil
}

// publishBatch sends an atomic batch of n messages.
func publishBatch(t *testing.T, nc *nats.Conn, n int) (uint64, error) {
	t.Helper()
	for i := 1; ; i++ {
		m := nats.NewMsg("s." + strconv.Itoa(i))
		m.Header.Set("Nats-Batch-Id", "batch")
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i))
		m.Data = make([]byte, 1024)
		if i == n {
			m.Header.Set("Nats-Batch-Commit", "1")
			return publish(t, nc, m)
		}
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestValueOfOneMebibyteWithHeadersIsStored(t *testing.T) {
	t.Parallel()
	nc := stream(t, embedded.Options{})
	m := nats.NewMsg("s.large")
	m.Header.Set("Zlink-Test", strings.Repeat("h", 32<<10))
	m.Data = make([]byte, 1<<20)
	if got, err := publish(t, nc, m); got != 1 || err != nil {
		t.Errorf("publish = %d, %v, want sequence 1", got, err)
	}
}

func TestBatchForTheLargestTransactionIsStored(t *testing.T) {
	t.Parallel()
	const keys = 2100 // 2,048 and some
	for name, o := range map[string]embedded.Options{
		"sync later":  {},
		"sync always": {SyncAlways: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := publishBatch(t, stream(t, o), keys); got != keys || err != nil {
				t.Errorf("batch = %d, %v, want last sequence %d", got, err, keys)
			}
		})
	}
}

func TestBatchAboveTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	nc := stream(t, embedded.Options{MaxBatchSize: 3})
	_, err := publishBatch(t, nc, 4)
	if e, ok := errors.AsType[*jetstream.APIError](err); !ok || e.ErrorCode != batchTooLarge {
		t.Errorf("batch of 4 with a limit of 3: %v, want code %d", err, batchTooLarge)
	}
}
