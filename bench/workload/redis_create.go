package workload

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/zlink/zlink-nats/bench/load"
)

// redisCreateScript takes six conditional rows and then the four that are written as keys, and as arguments the six
// expected versions, the new version, the value of the first row written and that of the others. Version 0 is no row.
var redisCreateScript = redis.NewScript(`
for i = 1, 6 do
  if (redis.call('HGET', KEYS[i], 'r') or '0') ~= ARGV[i] then return 0 end
end
redis.call('HSET', KEYS[7], 'r', ARGV[7], 'v', ARGV[8])
for i = 8, 10 do redis.call('HSET', KEYS[i], 'r', ARGV[7], 'v', ARGV[9]) end
return 1`)

// seededVersion is that of the rows which are there from the start.
const seededVersion = 1

// redisCreate is "create object" on Redis.
type redisCreate struct {
	addr     string
	client   *redis.Client
	value    []byte
	callers  []creator
	versions []int64 // the last that each caller gave
}

// RedisCreate returns "create object" on the Redis server at addr.
func RedisCreate(addr string, callers int) load.Workload {
	return &redisCreate{addr: addr, value: newValue(), callers: newCreators(callers), versions: make([]int64, callers)}
}

func (w *redisCreate) Setup(ctx context.Context) error {
	w.client = redis.NewClient(&redis.Options{Addr: w.addr, PoolSize: len(w.callers), MinIdleConns: len(w.callers)})
	_, err := w.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range nodes {
			p.HSet(ctx, leaseKey(n), "r", seededVersion, "v", w.value[:leaseBytes])
			p.HSet(ctx, descriptorKey(n), "r", seededVersion, "v", w.value)
		}
		for i := range w.callers {
			c := &w.callers[i]
			for n := range nodes {
				p.HSet(ctx, c.nodeCounter(n), "r", seededVersion, "v", w.value[:counterBytes])
				p.HSet(ctx, c.typeCounter(n), "r", seededVersion, "v", w.value[:counterBytes])
				c.counted[n] = seededVersion
			}
			w.versions[i] = seededVersion
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store rows: %w", err)
	}
	return redisCreateScript.Load(ctx, w.client).Err()
}

func (w *redisCreate) Op(ctx context.Context, caller int) error {
	c, version := &w.callers[caller], w.versions[caller]+1
	var keys []string
	var args []any
	for _, condition := range c.conditions(seededVersion) {
		keys, args = append(keys, condition.key), append(args, condition.version)
	}
	for _, p := range c.puts() {
		keys = append(keys, p.key)
	}
	args = append(args, version, w.value, w.value[:counterBytes])
	done, err := redisCreateScript.EvalSha(ctx, w.client, keys, args...).Bool()
	if err != nil {
		return err
	}
	if !done {
		return errConflict
	}
	w.versions[caller] = version
	c.wrote(version)
	return nil
}

func (w *redisCreate) Close() error { return w.client.Close() }
