package observe

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// said are commands that locks use, each of which does what its words say.
var said = strings.Split("SET lock <v> NX PX <ms>;SET lock <v> NX PX <ms>;SET lock <v> PX <ms>;SET lock <v> XX PX <ms>;SET lock <v>;"+
	"SETNX lock <v>;SET lock <v> NX PXAT <at>;SET lock <v> KEEPTTL;GETSET lock <v>;DEL lock;DEL lock other;UNLINK lock;PEXPIRE lock <ms>;"+
	"PEXPIRE lock <ms> GT;PEXPIREAT lock <at>;PERSIST lock;EXPIRE lock 0;GET lock;HSETNX lock <v> 1;HINCRBY lock <v> 1;"+
	"HINCRBY lock <v> -1;HDEL lock <v>;HSET lock owner <v>;SADD lock <v>;SREM lock <v>;ZADD lock <at> <v>;ZADD lock NX 1 <v>;"+
	"ZREM lock <v>;RPUSH lock <v>;LREM lock 0 <v>;MSETNX lock <v> other 1;FLUSHALL;APPEND lock <v>;INCR lock;LPOP lock;"+
	"RENAME lock away;COPY other lock", ";")

// Who sees every step of a server records what is recorded of one whose lines MONITOR shows.
func TestJournalsAgree(t *testing.T) {
	const epoch = int64(1_700_000_000)
	redis := servertest.Start(t, epoch, "--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no")
	version := command.ParseServer(redis.Info("server", "redis_version"), redis.Info("server", "valkey_version"))
	wall := func() time.Duration { return time.Duration(epoch) * time.Second }
	rapid.Check(t, func(t *rapid.T) {
		leased, ours := rapid.Bool().Draw(t, "leased"), rapid.Bool().Draw(t, "built in")
		redis.Set(t, epoch)
		redis.RDB.FlushAll(context.Background())

		var lines, steps []string
		into := func(list *[]string) func(history.Event) {
			return func(e history.Event) { *list = append(*list, fmt.Sprint(told(e), e.Value.At(), e.Value.ValidUntil())) }
		}
		o := &Observation{Key: "lock", Shown: "lock", Record: into(&lines)}
		options := keylog.JournalOptions{Node: "A", Key: "lock", Shown: "lock", Server: version, Record: into(&steps)}
		if !ours {
			o.Strangers = &Strangers{Keys: program.PatternsFor("lock", nil), Leased: leased, Served: func(string, string) string { return "" },
				WallOffset: func() (time.Duration, time.Duration) { return wall(), 0 }}
			options.Program = &keylog.Program{Leased: leased, WallOffset: wall}
		}
		w := &nodeWatch{o: o, n: &server.Node{Name: "A"}, redis: version}
		live := &journalReader{w: w, file: journal.Follow(redis.Dir), byName: make(map[string]*journalKey), begun: true}
		defer func() { _ = live.file.Close() }()
		if err := live.file.Skip(); err != nil {
			t.Fatal(err)
		}
		live.follow("lock", false)
		seen := keylog.NewJournal(redis.Dir, options)
		defer func() { _ = seen.Close() }()
		if err := seen.Started(epoch * 1000); err != nil {
			t.Fatal(err)
		}

		now, story := epoch, []string(nil)
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			if rapid.IntRange(0, 3).Draw(t, "tick") == 0 {
				now += rapid.Int64Range(1, 3).Draw(t, "seconds")
				redis.Set(t, now)
			}
			client := rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "client")
			words := strings.Fields(strings.NewReplacer("<v>", rapid.SampledFrom([]string{"a", "b", "7"}).Draw(t, "value"),
				"<ms>", rapid.SampledFrom([]string{"60000", "1000", "2000"}).Draw(t, "ms"),
				"<at>", strconv.FormatInt(1000*now+rapid.SampledFrom([]int64{60_000, 1000, 2000}).Draw(t, "at"), 10),
			).Replace(rapid.SampledFrom(said).Draw(t, "command")))
			answer := redis.RDB.Do(context.Background(), anys(words)...)
			story = append(story, fmt.Sprintf("%d %s %v", now-epoch, client, answer))
			left := history.Some(int64(time.Duration(now-epoch)*time.Second) - 7)
			lines, steps = nil, nil
			live.see(monitored{Line: keylog.Line{Args: words, Text: words, Caller: client, Left: left, Span: command.At(1000 * now)}})
			live.readOrFail()
			live.finish(live.read, live.seen)
			batch := keylog.Batch{Connection: client, Caller: client, Commands: [][]string{words}, Left: left, Now: 1000 * now}
			if err := seen.Step(batch); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.Join(lines, ";"), "it is not in the node's journal") {
				return // it may still come, where nobody knows when the key ran out
			}
			if got, want := strings.Join(steps, "; "), strings.Join(lines, "; "); got != want {
				t.Fatalf("%s\nby its steps %s\nby its lines %s", strings.Join(story, "\n"), got, want)
			}
		}
	})
}

func anys(words []string) (list []any) {
	for _, w := range words {
		list = append(list, w)
	}
	return list
}
