package command_test

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

var (
	redis70   = command.ParseServer("7.0.15", "")
	redis84   = command.ParseServer("8.4.0", "")
	valkey81  = command.ParseServer("7.2.4", "8.1.3")
	valkey80  = command.ParseServer("7.2.4", "8.0.1")
	unknown   = command.ParseServer("none of these", "")
	absent    = command.Key{}
	a         = command.Key{Holds: command.Text, Value: "a"}
	aUntil    = command.Key{Holds: command.Text, Value: "a", Expires: command.At(5000)}
	hash      = command.Key{Holds: command.Hash, Fields: map[string]string{"f": "1"}}
	unclear   = command.Key{Holds: command.Unclear}
	b         = command.Key{Holds: command.Text, Value: "b"}
	bUntil    = command.Key{Holds: command.Text, Value: "b", Expires: command.At(5000)}
	bInSecond = command.Key{Holds: command.Text, Value: "b", Expires: command.At(2000)}

	fieldForever  = command.Key{Holds: command.Hash, Fields: map[string]string{"f": "v"}}
	fieldInSecond = command.Key{Holds: command.Hash, Fields: map[string]string{"f": "v"}, Expires: command.At(2000), OfField: true}
)

// What the installed server does not know; it is 1000 ms after 1970.
func TestReplayOfNewerCommands(t *testing.T) {
	for _, c := range []struct {
		server command.Server
		words  string
		before command.Key
		did    command.Did
		after  command.Key
	}{
		{redis84, "SET lock b IFEQ a PX 1000", aUntil, command.Wrote, bInSecond},
		{valkey81, "SET lock b IFEQ a KEEPTTL", aUntil, command.Wrote, bUntil},
		{redis84, "SET lock b IFEQ x", a, command.Kept, a},
		{redis84, "SET lock b IFEQ a", absent, command.Kept, absent},
		{redis84, "SET lock b IFEQ a", hash, command.Kept, hash},
		{redis84, "SET lock b IFEQ a NX", a, command.Kept, a},
		{redis84, "SET lock b IFEQ a IFNE c", a, command.Kept, a},
		{redis70, "SET lock b IFEQ a", a, command.Kept, a},
		{valkey80, "SET lock b IFEQ a", a, command.Kept, a},
		{unknown, "SET lock b IFEQ a", a, command.Obscured, unclear},
		{unknown, "SET lock b IFEQ x", a, command.Kept, a},
		{redis84, "SET lock b IFNE x", a, command.Wrote, b},
		{redis84, "SET lock b IFNE a", a, command.Kept, a},
		{redis84, "SET lock b IFNE a", absent, command.Wrote, b},
		{valkey81, "SET lock b IFNE x", a, command.Kept, a},
		{redis84, "SET lock b IFDEQ 0123456789abcdef", a, command.Obscured, unclear},
		{redis84, "SET lock b IFDEQ 0123456789abcdef", absent, command.Kept, absent},
		{redis84, "SET lock b IFDNE 0123456789abcdef", absent, command.Wrote, b},
		{redis84, "SET lock b SOON 5", a, command.Obscured, unclear},
		{redis84, "DELEX lock", hash, command.Deleted, absent},
		{redis84, "DELEX lock", absent, command.Kept, absent},
		{redis84, "DELEX lock IFEQ a", a, command.Deleted, absent},
		{redis84, "DELEX lock IFEQ b", a, command.Kept, a},
		{redis84, "DELEX lock IFNE b", a, command.Deleted, absent},
		{redis84, "DELEX lock IFDNE 0", a, command.Obscured, unclear},
		{valkey81, "DELIFEQ lock a", a, command.Deleted, absent},
		{valkey81, "DELIFEQ lock a", hash, command.Kept, hash},
		{redis84, "MSETEX 2 other 1 lock b PX 1000", a, command.Wrote, bInSecond},
		{redis84, "MSETEX 2 other 1 lock b KEEPTTL", aUntil, command.Wrote, bUntil},
		{redis84, "MSETEX 1 lock b NX EXAT 5", absent, command.Wrote, bUntil},
		{redis84, "MSETEX 2 other 1 lock b NX", absent, command.Obscured, unclear},
		{redis84, "MSETEX 2 other 1 lock b NX", a, command.Kept, a},
		{redis84, "MSETEX 2 other 1 lock b XX", a, command.Obscured, unclear},
		{redis84, "MSETEX 1 other lock PX 1000", a, command.Kept, a},
		{redis84, "MSETEX 3 other 1 lock b", a, command.Kept, a},
		{redis84, "HSETEX lock PX 1000 FIELDS 1 f v", absent, command.Wrote, fieldInSecond},
		{redis84, "HSETEX lock FNX PX 5 FIELDS 1 f v", fieldInSecond, command.Kept, fieldInSecond},
		{redis84, "HSETEX lock KEEPTTL FIELDS 1 f v", fieldInSecond, command.Obscured, unclear},
		{redis84, "HSETEX lock PX 5 FIELDS 2 f v g v", absent, command.Obscured, unclear},
		{redis84, "HSET lock f v", fieldInSecond, command.Wrote, fieldForever},
		{redis84, "HSET lock g v", fieldInSecond, command.Obscured, unclear},
		{redis84, "HDEL lock f", fieldInSecond, command.Deleted, absent},
		{redis84, "HDEL lock g", fieldInSecond, command.Kept, fieldInSecond},
		{redis84, "HPEXPIRE lock 1000 FIELDS 1 f", fieldForever, command.Extended, fieldInSecond},
		{redis84, "HPEXPIRE lock 1000 FIELDS 1 g", fieldForever, command.Kept, fieldForever},
		{redis84, "HPEXPIRE lock 0 FIELDS 1 f", fieldInSecond, command.Deleted, absent},
		{redis84, "HPERSIST lock FIELDS 1 f", fieldInSecond, command.Extended, fieldForever},
		{redis84, "PEXPIRE lock 5", fieldInSecond, command.Obscured, unclear},
		{redis84, "PERSIST lock", fieldInSecond, command.Kept, fieldInSecond},
		{redis84, "HSETEX lock PX 5 FIELDS 1 f v", a, command.Kept, a},
		{redis84, "HPEXPIRE lock 5 FIELDS 2 f g", hash, command.Obscured, unclear},
		{redis84, "HGETDEL lock FIELDS 1 f", hash, command.Deleted, absent},
		{redis84, "HGETEX lock PERSIST FIELDS 1 f", absent, command.Kept, absent},
		{redis84, "HPTTL lock FIELDS 1 f", hash, command.Kept, hash},
		{redis84, "DIGEST lock", a, command.Kept, a},
		{redis84, "INCREX lock", a, command.Obscured, unclear},
		{redis84, "VADD lock VALUES 1 1 e", absent, command.Obscured, unclear},
		{redis84, "VADD lock VALUES 1 1 e", a, command.Kept, a},
		{redis84, "JSON.SET lock $ 1", a, command.Obscured, unclear},
		{redis84, "JSON.SET other $ 1", a, command.Kept, a},
		{redis84, "XDELEX lock IDS 1 1-1", a, command.Kept, a},
		{redis84, "SFLUSH 0 1", a, command.Obscured, unclear},
		{redis84, "MIGRATE h 1 lock 0 10", a, command.Obscured, unclear},
		{redis84, "MIGRATE h 1 lock 0 10 COPY", a, command.Kept, a},
		{redis84, "SWAPDB 0 1", absent, command.Obscured, unclear},
		{redis84, "SWAPDB 2 1", a, command.Kept, a},
		{redis84, "BLMOVE lock other LEFT LEFT 0", a, command.Kept, a},
		// What leaves no doubt ends all doubt.
		{redis84, "SET lock b PX 1000", unclear, command.Wrote, bInSecond},
		{redis84, "SET lock b GET", unclear, command.Obscured, unclear},
		{redis84, "SET lock b NX", unclear, command.Obscured, unclear},
		{redis84, "SET lock b KEEPTTL", unclear, command.Obscured, unclear},
		{redis84, "UNLINK other lock", unclear, command.Deleted, absent},
		{redis84, "PEXPIRE lock 0", unclear, command.Deleted, absent},
		{redis84, "PEXPIRE lock 10", unclear, command.Obscured, unclear},
		{redis84, "RENAME lock other", unclear, command.Deleted, absent},
		{redis84, "GETDEL lock", unclear, command.Obscured, unclear},
		{redis84, "RENAME other lock", a, command.Obscured, unclear},
		{redis84, "RENAMENX other lock", a, command.Kept, a},
		{redis84, "FLUSHALL", unclear, command.Deleted, absent},
		{redis84, "GET lock", unclear, command.Kept, unclear},
		{redis84, "LPOP lock", unclear, command.Obscured, unclear},
		// Fewer words than the command needs: no server carries it out.
		{redis84, "SET lock", a, command.Kept, a},
		{redis84, "DEL", a, command.Kept, a},
	} {
		r := command.Replay{Name: "lock", Server: c.server, Key: c.before}
		change := r.See(command.Executed{Words: strings.Fields(c.words), At: command.At(1000)}, false)
		if change.Did != c.did || !r.Equal(c.after) && (r.Holds != command.Unclear || c.after.Holds != command.Unclear) {
			t.Errorf("%s on %+v did %v and left %+v, want %v and %+v", c.words, c.before, change.Did, r.Key, c.did, c.after)
		}
	}
}

// A key may have run out when the instant is known no better than its end: either
// way is told, and reading changes nothing.
func TestReplayInDoubt(t *testing.T) {
	see := func(k command.Key, words string, at command.Span, mayBeGone bool) (command.Key, command.Change) {
		r := command.Replay{Name: "lock", Key: k}
		return r.Key, r.See(command.Executed{Words: strings.Fields(words), At: at}, mayBeGone)
	}
	for _, mayBeGone := range []bool{false, true} {
		at := command.Span{From: 5000, To: 5001}
		if mayBeGone {
			at = command.At(2000)
		}
		_, change := see(aUntil, "SET lock b NX", at, mayBeGone)
		if change.Did != command.Obscured || len(change.Either) != 2 {
			t.Fatalf("%+v", change)
		}
		alive, gone := change.Either[0], change.Either[1]
		if alive.Did != command.Kept || !alive.After.Equal(aUntil) || gone.Did != command.Wrote || !gone.After.Equal(b) || !gone.Expired {
			t.Errorf("%+v", change)
		}
		if _, change := see(aUntil, "GET lock", at, mayBeGone); change.Did != command.Kept || change.Either != nil {
			t.Errorf("a read: %+v", change)
		}
		if _, change := see(a, "SET lock b NX", at, mayBeGone); change.Did != command.Kept {
			t.Errorf("a key without an end: %+v", change)
		}
	}
	doubt := command.Span{From: 5000, To: 5001}
	if _, change := see(aUntil, "JSON.SET lock $ 1", doubt, false); change.Did != command.Obscured || change.Either != nil {
		t.Errorf("what nobody can replay: %+v", change)
	}
	for from, want := range map[int64]command.Did{998: command.Extended, 999: command.Obscured, 1000: command.Deleted} {
		if _, change := see(a, "PEXPIREAT lock 1000", command.Span{From: from, To: from + 1}, false); change.Did != want {
			t.Errorf("an end at 1000, between %d and %d: %+v, want %v", from, from+1, change, want)
		}
	}
	if _, change := see(aUntil, "SET lock b NX", command.Span{From: 4999, To: 5000}, false); change.Did != command.Kept {
		t.Errorf("in the millisecond of its end: %+v", change)
	}
	if _, change := see(aUntil, "SET lock b NX", command.Span{From: 5001, To: 5002}, false); change.Did != command.Wrote || !change.Expired {
		t.Errorf("in the millisecond after: %+v", change)
	}
}

// A command that waits for another key may write this one much later.
func TestReplayOfWhatWaits(t *testing.T) {
	for words, lasting := range map[string]bool{
		"BLMOVE other lock LEFT LEFT 0": true, "BRPOPLPUSH other lock 0": true, "BLMOVE lock other LEFT LEFT 0": false,
		"BLPOP lock 0": true, "LMOVE other lock LEFT LEFT": false,
	} {
		for _, k := range []command.Key{absent, unclear} {
			r := command.Replay{Name: "lock", Key: k}
			if change := r.See(command.Executed{Words: strings.Fields(words)}, false); change.Lasting != lasting {
				t.Errorf("%s on %+v: %+v", words, k, change)
			}
		}
	}
}

func FuzzReplay(f *testing.F) {
	for _, seed := range []string{"SET lock", "SETBIT lock 99999999999 1", "SETRANGE lock 9223372036854775807 x",
		"MSETEX 9 lock", "COPY lock lock DB", "HINCRBY lock f", "PEXPIRE lock 9223372036854775807 GT"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, line string) {
		words := strings.Split(line, " ")
		for _, k := range []command.Key{absent, aUntil, hash, unclear} {
			r := command.Replay{Name: "lock", Key: k}
			r.See(command.Executed{Words: words, At: command.At(1000)}, true)
		}
	})
}

// Whose a hash is: the value of the field that all clients write says it, or else the name of the client's own.
func TestOwnerOfAHash(t *testing.T) {
	shared := func(field string) bool { return field == "owner" }
	for want, fields := range map[string]map[string]string{
		"c1": {"owner": "c1", "extra": "c2"}, "c3": {"c3": "2"}, "7": {"owner": "7"}, "c4": {"lease": "c4", "count": "1"},
	} {
		if got := (command.Key{Holds: command.Hash, Fields: fields}).Owner(shared); got != want {
			t.Errorf("%v is %q's, want %q", fields, got, want)
		}
	}
}
