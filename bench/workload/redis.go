package workload

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/zlink/zlink-nats/bench/load"
)

// A row is a hash of its version "r", which counts its writes, and its value "v". Redis has no version of its own to
// compare; a counter in the row is the cheapest that one can have.
var (
	// redisUpdateScript takes the keys lease, descriptor and entry spot, and the arguments lease version, descriptor
	// version, new version and value.
	redisUpdateScript = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'r') ~= ARGV[1] then return 0 end
if redis.call('HGET', KEYS[2], 'r') ~= ARGV[2] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('HSET', KEYS[2], 'r', ARGV[3], 'v', ARGV[4])
return 1`)
	// redisWriteScript takes the rows as keys, the first two conditional, and the arguments expected version, new
	// version and value.
	redisWriteScript = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'r') ~= ARGV[1] then return 0 end
if redis.call('HGET', KEYS[2], 'r') ~= ARGV[1] then return 0 end
for _, key in ipairs(KEYS) do redis.call('HSET', key, 'r', ARGV[2], 'v', ARGV[3]) end
return 1`)
)

// redisWorkload runs one script, with a version that counts up, on each caller's rows.
type redisWorkload struct {
	addr     string
	client   *redis.Client
	script   *redis.Script
	value    []byte
	keys     [][]string // of each caller
	seeded   int        // how many of a caller's keys exist from the start, at version 0
	versions []int64    // of each caller
	args     func(version int64, value []byte) []any
}

// RedisUpdate returns "update descriptor" on the Redis server at addr.
func RedisUpdate(addr string, callers int) load.Workload {
	w := newRedisWorkload(addr, callers, redisUpdateScript)
	w.seeded = 2
	w.args = func(version int64, value []byte) []any { return []any{0, version, version + 1, value} }
	for i := range w.keys {
		w.keys[i] = []string{key("lease", i, 0), key("node", i, 0), key("spot", i, 0)}
	}
	return w
}

// RedisWrite returns "store write" on the Redis server at addr.
func RedisWrite(addr string, callers int) load.Workload {
	w := newRedisWorkload(addr, callers, redisWriteScript)
	w.seeded = 4
	w.args = func(version int64, value []byte) []any { return []any{version, version + 1, value} }
	for i := range w.keys {
		w.keys[i] = []string{key("row", i, 0), key("row", i, 1), key("row", i, 2), key("row", i, 3)}
	}
	return w
}

func newRedisWorkload(addr string, callers int, script *redis.Script) *redisWorkload {
	return &redisWorkload{
		addr: addr, script: script, value: newValue(),
		keys: make([][]string, callers), versions: make([]int64, callers),
	}
}

func (w *redisWorkload) Setup(ctx context.Context) error {
	w.client = redis.NewClient(&redis.Options{Addr: w.addr, PoolSize: len(w.keys), MinIdleConns: len(w.keys)})
	for i, keys := range w.keys {
		for _, k := range keys[:w.seeded] {
			if err := w.client.HSet(ctx, k, "r", 0, "v", w.value).Err(); err != nil {
				return fmt.Errorf("store rows of caller %d: %w", i, err)
			}
		}
	}
	return w.script.Load(ctx, w.client).Err()
}

func (w *redisWorkload) Op(ctx context.Context, caller int) error {
	done, err := w.script.EvalSha(ctx, w.client, w.keys[caller], w.args(w.versions[caller], w.value)...).Bool()
	if err != nil {
		return err
	}
	if !done {
		return errConflict
	}
	w.versions[caller]++
	return nil
}

func (w *redisWorkload) Close() error { return w.client.Close() }
