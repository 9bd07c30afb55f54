package live_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// A lock of somebody else's that says when its key ends, and not how long it lives,
// is not blamed for the key that it deletes; and what no replay can tell makes
// unknown what rests on it, with the command's name.
func TestALockThatSaysWhenItEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unclear []any
		want    checker.Verdict
	}{
		"known":   {nil, checker.Holds},
		"unknown": {[]any{"BITFIELD", "lock", "SET", "u8", "0", "65"}, checker.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &observed{}
			w := open(t, spec(t, 1), o)
			client := func(name string) func(...any) {
				dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return w.Endpoint("A").Dial(ctx) }
				rdb := redis.NewClient(&redis.Options{Dialer: dial, ClientName: name, Protocol: 2, DisableIdentity: true})
				t.Cleanup(func() { _ = rdb.Close() })
				return func(args ...any) {
					if err := rdb.Do(context.Background(), args...).Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
			c1, c2 := client("c1"), client("c2")
			in := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).UnixMilli()) }
			c1("SET", "lock", "one", "NX", "PXAT", in(20*time.Millisecond))
			w.Sleep(50 * time.Millisecond)
			c2("SET", "lock", "two", "NX", "PXAT", in(time.Minute))
			if c.unclear != nil {
				c1(c.unclear...)
			}
			c2("DEL", "lock")
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			h := &history.History{Header: history.Header{Nodes: []string{"A"},
				Clients: []string{"c1", "c2"}, LockKey: "lock", TTL: int64(time.Second)}}
			for _, c := range h.Header.Clients { // both asked for the lock: who did not can touch nobody's key
				h.Events = append(h.Events, history.Event{Process: c, Type: history.Invoke, F: history.Acquire})
			}
			h.Events = append(h.Events, o.find(func(history.Event) bool { return true })...)
			h.Events = append(h.Events, history.Event{Process: history.RunProcess, Type: history.Info, F: history.Phase,
				Value: history.Value{Rare: &history.Rare{Detail: history.PhaseDone}}})
			for i := range h.Events {
				h.Events[i].Index = int32(i)
			}
			f := checker.Judge(context.Background(), h, []checker.Property{checker.OwnerRelease}, checker.Options{})[0]
			if f.Verdict != c.want {
				t.Errorf("%v: %s, want %v of %+v", f.Verdict, f.Why, c.want, h.Events)
			}
		})
	}
}
