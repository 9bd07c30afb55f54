package keylog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// writes is a journal that a test writes, and what is recorded of it. The run begins at 1 s since 1970, and commands leave
// their clients 7 ms before they come.
type writes struct {
	*Journal
	t      *testing.T
	file   *os.File
	events []string
}

func write(t *testing.T, o JournalOptions) *writes {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "appendonly.aof"))
	if err != nil {
		t.Fatal(err)
	}
	w := &writes{t: t, file: file}
	t.Cleanup(func() { _ = file.Close() })
	o.Node, o.Key, o.Shown = "A", "lock", "lock"
	if o.Record == nil {
		o.Record = func(e history.Event) { w.events = append(w.events, told(e)) }
	}
	if o.Server.Major == 0 {
		o.Server = command.ParseServer("7.0.15", "")
	}
	w.Journal = NewJournal(dir, o)
	t.Cleanup(func() { _ = w.Close() })
	w.must(w.Started(1000))
	return w
}

func (w *writes) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// told is an event in words.
func told(e history.Event) string {
	v := e.Value
	words := []string{strings.TrimPrefix(string(e.F), "key-")}
	if v.Key != "lock" {
		words = append(words, v.Key)
	}
	for _, w := range []string{v.Client, v.Owner, v.Detail()} {
		if w != "" {
			words = append(words, w)
		}
	}
	if v.TTL().IsSet() {
		words = append(words, time.Duration(v.TTL().V()).String())
	}
	if v.At().IsSet() {
		words = append(words, "sent", time.Duration(v.At().V()).String())
	}
	if v.ValidUntil().IsSet() {
		words = append(words, "until", time.Duration(v.ValidUntil().V()).String())
	}
	return strings.Join(words, " ")
}

// blocks writes blocks with ; between them, and their entries with &.
func (w *writes) blocks(text string) {
	var b []byte
	for block := range strings.SplitSeq(text, ";") {
		entries := strings.Split(block, "&")
		if len(entries) > 1 {
			entries = slices.Concat([]string{"MULTI"}, entries, []string{"EXEC"})
		}
		for _, e := range entries {
			if words := strings.Fields(e); len(words) > 0 {
				b = resp.AppendCommand(b, words...)
			}
		}
	}
	_, err := w.file.Write(b)
	w.must(err)
}

// step does a step that is written as "who @ms: commands > blocks".
func (w *writes) step(text string) {
	w.t.Helper()
	head, rest, _ := strings.Cut(text, ":")
	commands, blocks, _ := strings.Cut(rest, ">")
	who, at, _ := strings.Cut(head, " @")
	now := int64(1000)
	if at != "" {
		_, err := fmt.Sscan(at, &now)
		w.must(err)
	}
	w.blocks(blocks)
	var list [][]string
	for c := range strings.SplitSeq(commands, ";") {
		if words := strings.Fields(c); len(words) > 0 {
			list = append(list, words)
		}
	}
	switch who {
	case "own":
		w.must(w.Own(now))
	case "primary":
		w.must(w.Primary(now))
	case "start":
		w.must(w.Started(now))
	case "stranger":
		w.must(w.Step(Batch{Connection: "x", Commands: list, Now: now, Stranger: true}))
	default:
		client, _, _ := strings.Cut(who, "#")
		w.must(w.Step(Batch{Connection: who, Caller: client, Commands: list, Now: now,
			Left: history.Some(int64(time.Duration(now-1000-7) * time.Millisecond))}))
	}
}

const (
	takes = "c1: SET lock a NX PX 300 > SET lock a PXAT 1300"
	taken = "set c1 a 300ms sent -7ms until 293ms"
)

func TestJournal(t *testing.T) {
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"a lock is taken, extended and released": {[]string{takes, "c2: SET lock b NX PX 300", "c1 @1100: PEXPIRE lock 300 > PEXPIREAT lock 1400",
			"c1 @1150: DEL lock > DEL lock"}, taken + "; extended c1 a 300ms sent 93ms until 393ms; deleted c1 a"},
		"it runs out, and the server removes it": {[]string{takes, "own @1301: > DEL lock"}, taken + "; expired a"},
		"the next client meets the end": {[]string{takes, "c2 @1301: SET lock b NX PX 300 > DEL lock & SET lock b PXAT 1601"},
			taken + "; expired a; set c2 b 300ms sent 294ms until 594ms"},
		"so it does before version 7": {[]string{takes, "c2 @1301: SET lock b NX PX 300 > DEL lock; SET lock b PXAT 1601"},
			taken + "; expired a; set c2 b 300ms sent 294ms until 594ms"},
		"who removes a key in its last millisecond has removed it": {[]string{takes, "c2 @1300: DEL lock > DEL lock"}, taken + "; deleted c2 a"},
		"who removes a key after its end has not":                  {[]string{takes, "c2 @1301: DEL lock > DEL lock"}, taken + "; expired a"},
		"a reader meets the end":                                   {[]string{takes, "c2 @1301: GET lock > DEL lock"}, taken + "; expired a"},
		"evicted": {[]string{takes, "c2 @1100: SET lock b NX PX 300 > DEL lock; SET lock b PXAT 1400"},
			taken + "; deleted a; set c2 b 300ms sent 93ms until 393ms"},
		"an instant is that of clients' clocks": {[]string{"c1: SET lock a NX PXAT 1300 > SET lock a PXAT 1300"},
			"set c1 a 300ms sent -7ms until 300ms"},
		"and so it is in a script": {[]string{"c1: EVALSHA abc 1 lock a 1300 > SET lock a PXAT 1300"},
			"set c1 a 300ms sent -7ms until 300ms"},
		"one that the script computed": {[]string{"c1: EVALSHA abc 1 lock a 300 > SET lock a PXAT 1300"}, taken},
		"a script is one thing": {[]string{"c1: EVALSHA abc 1 lock u 300 > HINCRBY lock u 1 & PEXPIREAT lock 1300"},
			"set c1 u 300ms sent -7ms until 293ms"},
		"unless it makes a key and removes it": {[]string{"c1: EVALSHA abc 1 lock a > SET lock a & DEL lock"},
			"set c1 a sent -7ms; deleted c1 a"},
		"also after another has run out": {[]string{"c1: SET lock a PX 300 > SET lock a PXAT 1300",
			"c2 @2000: EVALSHA abc 1 lock b > DEL lock & SET lock b & DEL lock"},
			"set c1 a 300ms sent -7ms until 293ms; expired a; set c2 b sent 993ms; deleted c2 b"},
		"and so is a transaction": {[]string{"c1: MULTI; HINCRBY lock u 1; PEXPIREAT lock 1300; EXEC > HINCRBY lock u 1 & PEXPIREAT lock 1300"},
			"set c1 u 300ms sent -7ms until 300ms"},
		"which may come in pieces": {[]string{"c1#1: MULTI; SET lock a", "c1#2: MULTI; SET lock b", "c1#1 @1002: PEXPIRE lock 300",
			"c1#1 @1003: EXEC > SET lock a & PEXPIREAT lock 1303", "c1#2 @1004: DISCARD; EXEC"}, "set c1 a 300ms sent -4ms until 296ms"},
		"a connection that ended has nothing queued": {[]string{"c1: MULTI; SET lock a", "close c1:", "c1: EXEC > SET lock a"},
			"unclear SET; set a"},
		"each command of a batch has its block": {
			[]string{"c1: SET lock a; PEXPIREAT lock 1300; SET lock b > SET lock a; PEXPIREAT lock 1300; SET lock b"},
			"set c1 a sent -7ms; extended c1 a 300ms sent -7ms until 300ms; set c1 b sent -7ms"},
		"one that was refused has none": {
			[]string{takes, "c2: SET lock b NX PX 300; DEL lock; SET lock b NX PX 400 > DEL lock; SET lock b PXAT 1400"},
			taken + "; deleted c2 a; set c2 b 400ms sent -7ms until 393ms"},
		"it may be either's of a batch": {[]string{"c1: EVALSHA abc 1 lock a 300; SET lock a NX PXAT 1300 > SET lock a PXAT 1300"},
			"unclear c1 SET, sent nobody knows when,; set c1 a 300ms"},
		"a waiter that another woke": {[]string{"c2: BLPOP lock 0", "c1: RPUSH lock a > RPUSH lock a; LPOP lock"},
			"set c1 a sent -7ms; unclear c3 LPOP"},
		"a script has one block": {[]string{"c1: EVALSHA abc 1 lock a > RPUSH lock a; LPOP lock"}, "set c1 a sent -7ms; unclear c3 LPOP"},
		"a queued command has one entry": {[]string{"c1: MULTI; APPEND lock a; EXEC > APPEND lock a & APPEND lock a"},
			"unclear c3 APPEND; set a; unclear c3 APPEND; set aa"},
		"commands are done in their order": {[]string{"c1: SET lock a; SET lock b > SET lock b; SET lock a"},
			"set c1 b sent -7ms; unclear c3 SET; set a"},
		"what a connection forgot": {[]string{"c1: MULTI; SET lock a; RESET; EXEC > SET lock a"}, "unclear c3 SET; set a"},
		"what was discarded":       {[]string{"c1: MULTI; SET lock a; DISCARD; MULTI; EXEC > SET lock a"}, "unclear c3 SET; set a"},
		"by nobody":                {[]string{"c1: GET lock > SET lock z"}, "unclear c3 SET; set z"},
		"by no command of a batch": {[]string{"c1: SET lock a PX 500 > SET lock a PXAT 1300"}, "unclear c3 SET; set a 300ms"},
		"a stranger": {[]string{"stranger: SET lock a > SET lock a"},
			"unclear SET over a connection that is no client's link; set a"},
		"a primary":                     {[]string{"primary: > SET lock a PXAT 1300; DEL lock"}, "set a 300ms; deleted a"},
		"what the primary lets run out": {[]string{"primary: > SET lock a PXAT 1300", "primary @1301: > DEL lock"}, "set a 300ms; expired a"},
		"a restart": {[]string{takes, "c1: SET lock2 x", "start @1100:", "c2 @1150: DEL lock > DEL lock"},
			taken + "; set a 200ms; deleted c2 a"},
		"one after the key's end":   {[]string{takes, "start @1301:", "c2 @1301: GET lock > DEL lock"}, taken},
		"what was queued before it": {[]string{"c1: MULTI; SET lock a", "start:", "c1: EXEC > SET lock a"}, "unclear c3 SET; set a"},
		"in another database": {[]string{"c1: SELECT 1; SET lock a > SELECT 1; SET lock a; SELECT 0"},
			"unclear SET in database 1, of which nothing is observed,"},
		"but not if it is elsewhere": {[]string{takes, "c1: SELECT 1; SET lock b > SELECT 1; SET lock b; SELECT 0"}, taken},
		"an unknown command":         {[]string{takes, "c2: NEWSET lock b > SET lock b"}, taken + "; set c2 b sent -7ms"},
		"a script that keeps things to itself": {[]string{"c1: SCRIPT LOAD redis.set_repl(redis.REPL_NONE)", "c1: EVALSHA abc 1 lock a"},
			"unclear c1 EVALSHA (it may keep what it does out of the node's journal)"},
		"others of which nobody sees who wrote them": {[]string{"c1: EVALSHA abc 1 lock a > SADD lock a w", "c1: DEL lock > DEL lock",
			"c2: EVALSHA abc 1 lock b > SADD lock b w"}, "set c1 a sent -7ms; deleted c1 a; set c2 b sent -7ms"},
		"all keys": {[]string{takes, "c2: FLUSHALL > FLUSHALL"}, taken + "; deleted c2 a"},
		"an end that is past": {[]string{"c1: SET lock a PXAT 900 > SET lock a PXAT 900", "c2: GET lock > DEL lock"},
			"set c1 a 0s sent -7ms until -100ms; expired a"},
		"the same again": {[]string{takes, "c1: PEXPIRE lock 300 > PEXPIREAT lock 1300"}, taken + "; extended c1 a 300ms sent -7ms until 293ms"},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, JournalOptions{Program: &Program{WallOffset: func() time.Duration { return time.Second },
				Served: func(string) string { return "c3" }}})
			for _, s := range c.steps {
				if who, closes := strings.CutPrefix(s, "close "); closes {
					w.Closed(strings.TrimSuffix(who, ":"))
					w.o.Program.Served = nil
					continue
				}
				w.step(s)
			}
			if got := strings.Join(w.events, "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Of a semaphore each element of a sorted set is a key of its own.
func TestJournalOfPermits(t *testing.T) {
	const takes = "c1: EVALSHA x 1 lock a 1000 300 > ZADD lock 1000 a & PEXPIREAT lock 1300"
	const taken = "set lock a c1 a 300ms sent -7ms until 293ms"
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"two are taken, and one is given back": {[]string{takes, "c2 @1100: EVALSHA x 1 lock b 1100 300 > ZADD lock 1100 b & PEXPIREAT lock 1400",
			"c1 @1150: ZREM lock a > ZREM lock a"}, taken + "; set lock b c2 b 300ms sent 93ms until 393ms; deleted lock a c1 a"},
		"a renewal is its own permit's": {[]string{takes, "c2: ZADD lock 1000 b > ZADD lock 1000 b",
			"c1 @1100: EVALSHA y 1 lock a 1100 300 > ZADD lock 1100 a & PEXPIREAT lock 1400"},
			taken + "; set lock b c2 b sent -7ms; set lock a c1 a 300ms sent 93ms until 393ms"},
		"the end of all renews none": {[]string{takes, "c2 @1100: PEXPIRE lock 300 > PEXPIREAT lock 1400"}, taken},
		"who asks next removes what has ended": {[]string{takes,
			"c2 @1200: EVALSHA x 1 lock b 9000 300 > ZREMRANGEBYSCORE lock -inf 8700 & ZADD lock 9000 b & PEXPIREAT lock 1500"},
			taken + "; deleted lock a c2 a; set lock b c2 b 300ms sent 193ms until 493ms"},
		"all run out": {[]string{takes, "c2: ZADD lock 1000 b > ZADD lock 1000 b", "own @1301: > DEL lock"},
			taken + "; set lock b c2 b sent -7ms; expired lock a a; expired lock b b"},
		"all are found again":                {[]string{takes, "start @1100:"}, taken + "; set lock a a 200ms"},
		"another client ends all":            {[]string{takes, "c2 @1100: DEL lock > DEL lock"}, taken + "; deleted lock a c2 a"},
		"something else is put in its place": {[]string{takes, "c2: SET lock x > SET lock x"}, taken + "; unclear c2 SET"},
		"a counter is one key": {[]string{"c1: INCR lock > INCR lock", "c2: INCR lock > INCR lock"},
			"set c1 1 sent -7ms; set c2 2 sent -7ms"},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, JournalOptions{Program: &Program{Permits: true, WallOffset: func() time.Duration { return time.Second }}})
			for _, s := range c.steps {
				w.step(s)
			}
			if got := strings.Join(w.events, "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Before version 6.2 a SET with an end is two entries, later ones are two commands.
func TestJournalOfRedis6(t *testing.T) {
	for version, want := range map[string]string{"6.0.16": "set c1 a 300ms", "6.2.0": "unclear SET; set a; unclear PEXPIREAT; set a 300ms"} {
		w := write(t, JournalOptions{Server: command.ParseServer(version, "")})
		w.blocks("SET lock a;PEXPIREAT lock 1300")
		w.must(w.Step(Batch{Connection: "1", Caller: "c1", Commands: [][]string{{"SET", "lock", "a", "NX", "PX", "300"}}, Now: 1000}))
		if got := strings.Join(w.events, "; "); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}

// prefixed are keys with a prefix.
type prefixed string

func (p prefixed) Fit(key string) bool { return strings.HasPrefix(key, string(p)) }

// What one command does to several keys is recorded in the order in which it was done.
func TestJournalOfSeveralKeys(t *testing.T) {
	w := write(t, JournalOptions{Keys: prefixed("lock")})
	for _, s := range []string{"c1: SET lock:2 a; SET other a; SET lock:1 a > SET lock:2 a; SET other a; SET lock:1 a",
		"c2: MSETNX lock:3 b lock:1 b; DEL lock:1 lock:2 > DEL lock:1 lock:2",
		"c2: EVALSHA abc 2 lock:1 lock:2 > SET lock:1 b & SET lock:2 b", "start:"} {
		w.step(s)
	}
	want := "set lock:2 c1 a sent -7ms; set lock:1 c1 a sent -7ms; deleted lock:1 c2 a; deleted lock:2 c2 a; " +
		"set lock:1 c2 b sent -7ms; set lock:2 c2 b sent -7ms; set lock:2 b; set lock:1 b"
	if got := strings.Join(w.events, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A server that copies the data of another, or writes its own anew, begins another file.
func TestJournalThatBeginsAnew(t *testing.T) {
	for data, want := range map[string]string{
		"SET lock a;PEXPIREAT lock 1300": taken,
		"SET lock b":                     taken + "; set b",
		"SET other b":                    taken + "; deleted a",
	} {
		w := write(t, JournalOptions{})
		w.step(takes)
		name := w.file.Name()
		w.must(os.Remove(name))
		file, err := os.Create(name)
		w.must(err)
		w.must(w.file.Close())
		w.file = file
		w.blocks(data)
		w.step("own @1100:")
		if got := strings.Join(w.events, "; "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A base that is a snapshot is not read, and nobody may take the data for known.
func TestJournalWithASnapshot(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "appendonly.aof"), []byte("REDIS0011"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := NewJournal(dir, JournalOptions{Node: "A"})
	defer func() { _ = j.Close() }()
	if err := j.Started(1000); err == nil || !strings.Contains(err.Error(), "aof-use-rdb-preamble") {
		t.Error(err)
	}
}

// BenchmarkJournal reads after each step. quiet: the step wrote nothing.
func BenchmarkJournal(b *testing.B) {
	for name, blocks := range map[string]string{"quiet": "", "taken": "SET lock a PXAT 1300;DEL lock"} {
		b.Run(name, func(b *testing.B) {
			w := &writes{}
			dir := b.TempDir()
			var err error
			if w.file, err = os.Create(filepath.Join(dir, "appendonly.aof")); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = w.file.Close() }()
			j := NewJournal(dir, JournalOptions{Node: "A", Key: "lock", Record: func(history.Event) {}})
			defer func() { _ = j.Close() }()
			if err := j.Started(1000); err != nil {
				b.Fatal(err)
			}
			batch := Batch{Connection: "1", Caller: "c1", Commands: [][]string{{"SET", "lock", "a", "NX", "PX", "300"}, {"DEL", "lock"}}, Now: 1000}
			for b.Loop() {
				w.blocks(blocks)
				if err := j.Step(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
