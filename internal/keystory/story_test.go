package keystory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
)

// epoch is when the lines begin.
const epoch = 1_700_000_000 * time.Second

type fits string

func (f fits) Fit(key string) bool { return strings.HasPrefix(key, string(f)) }

// release is a script that compares, extend one that renews, blind one that compares nothing.
const (
	release = "if-redis.call('get',KEYS[1])==ARGV[1]-then-redis.call('del',KEYS[1])"
	extend  = "if-redis.call('get',KEYS[1])==ARGV[1]-then-redis.call('pexpire',KEYS[1],ARGV[2])"
	blind   = "redis.call('del',KEYS[1])"
)

// told is the story of lines such as "100 c1 SET lock a NX PX 1000": the ms, the connection, the words. Before the first, no key is there.
func told(t *testing.T, known bool, lines ...string) *Story {
	t.Helper()
	s := New(Options{Keys: fits("lock"), Resource: fits("stock"), Moments: 1000})
	s.absent = known
	for _, line := range lines {
		var ms int64
		words := strings.Fields(strings.NewReplacer("RELEASE", "EVAL "+release+" 1 lock", "EXTEND", "EVAL "+extend+" 1 lock", "BLIND",
			"EVAL "+blind+" 1 lock").Replace(line))
		if _, err := fmt.Sscan(words[0], &ms); err != nil {
			t.Fatal(err)
		}
		s.SeeLine(monitor.Line{At: epoch + time.Duration(ms)*time.Millisecond, Source: words[1], Args: words[2:]})
	}
	s.End()
	return s
}

// found lists what was found, in its order.
func found(s *Story) string {
	var list []string
	for _, k := range s.Locks() {
		for _, f := range k.Findings {
			word := string(f.Kind)
			if f.Question {
				word += "?"
			}
			list = append(list, word)
		}
	}
	return strings.Join(list, " ")
}

// What each lock does is found, and nothing else.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a correct lock": {[]string{"0 c1 SET lock a NX PX 1000", "10 c2 SET lock b NX PX 1000",
			"500 c1 EXTEND a 1000", "500 lua get lock",
			"500 lua pexpire lock 1000", "600 c3 RELEASE a", "600 lua get lock", "600 lua del lock", "700 c2 SET lock b NX PX 1000",
			"800 c2 DELIFEQ lock b"}, ""},
		"one that is asked for by a loser, who gives up": {[]string{"0 c1 SET lock a NX PX 100",
			"50 c2 SET lock b NX PX 100", "51 c2 RELEASE b",
			"51 lua get lock", "60 c1 RELEASE a", "60 lua get lock", "60 lua del lock", "61 c1 RELEASE a", "61 lua get lock"}, ""},
		"one that is watched": {[]string{"0 c1 SET lock a NX PX 1000", "1 c1 WATCH lock", "2 c1 GET lock",
			"3 c1 MULTI", "3 c1 DEL lock",
			"3 c1 EXEC"}, ""},
		"one that has watched before": {[]string{"0 c1 WATCH lock", "1 c1 MULTI", "1 c1 SET lock a NX PX 1000", "1 c1 EXEC", "2 c1 MULTI",
			"2 c1 DEL lock", "2 c1 EXEC"}, "deleted-without-comparing"},
		"a hash": {[]string{"0 c1 HSET lock a 1", "0 c1 PEXPIRE lock 900", "10 c2 EVAL hexists-hincrby 1 lock b",
			"10 lua hexists lock b",
			"20 c1 EVAL x 1 lock a", "20 lua hexists lock a", "20 lua hincrby lock a -1", "20 lua del lock"}, "ttl-in-a-second-step"},
		"DEL": {[]string{"0 c1 SET lock a NX PX 1000", "10 c1 DEL lock"}, "deleted-without-comparing"},
		"DEL by another": {[]string{"0 c1 SET lock a NX PX 1000",
			"10 c2 DEL lock"}, "deleted-without-comparing released-by-another?"},
		"GET, then DEL": {[]string{"0 c1 SET lock a NX PX 1000", "5 c1 GET lock",
			"10 c1 DEL lock"}, "deleted-without-comparing"},
		"a script that is": {[]string{"0 c1 SET lock a NX PX 1000", "10 c1 BLIND",
			"10 lua del lock"}, "deleted-without-comparing"},
		"an end in the past": {[]string{"0 c1 SET lock a NX PX 1000", "10 c1 PEXPIRE lock 0"}, "deleted-without-comparing"},
		"all keys are gone":  {[]string{"0 c1 SET lock a NX PX 1000", "10 c1 FLUSHALL"}, "deleted-without-comparing"},
		"it was not its own": {[]string{"0 c1 SET lock a NX PX 1000", "10 c2 DEL lock", "20 c1 RELEASE a",
			"20 lua get lock"}, "deleted-without-comparing released-by-another? released-by-another"},
		"a script of another": {[]string{"0 c1 SET lock a NX PX 5", "100 c2 SET lock b NX PX 1000", "110 c1 BLIND a",
			"110 lua del lock"}, "released-by-another"},
		"too late": {[]string{"0 c1 SET lock a NX PX 100", "200 c2 SET lock b NX PX 1000",
			"300 c1 RELEASE a", "300 lua get lock"}, "not-renewed-in-time"},
		"a renewal too late": {[]string{"0 c1 SET lock a NX PX 100", "200 c1 SET lock a XX PX 1000"}, "not-renewed-in-time"},
		"too late, asked for again": {[]string{"0 c1 SET lock a NX PX 100", "200 c2 SET lock b NX PX 1000",
			"210 c1 SET lock a NX PX 100",
			"300 c1 RELEASE a", "300 lua get lock"}, ""},
		"brought back": {[]string{"0 c1 SET lock a NX PX 100", "200 c1 SET lock a PX 1000"}, "brought-back"},
		"overwritten":  {[]string{"0 c1 SET lock a NX PX 1000", "10 c2 SET lock b PX 1000"}, "overwritten"},
		"a new value, where it may be one client's": {[]string{"0 c1 SET lock a NX PX 1000",
			"10 c1 SET lock a2 XX PX 1000"}, "overwritten?"},
		"a lease in the value": {[]string{"0 c1 SETNX lock 1700000001000",
			"2000 c2 GETSET lock 1700000005000"}, ""},
		"no TTL": {[]string{"0 c1 SET lock a NX", "100 c1 RELEASE a",
			"100 lua get lock", "100 lua del lock"}, "kept-without-ttl"},
		"no TTL, and no end":    {[]string{"0 c1 SET lock a NX", "1500 c1 PING"}, "kept-without-ttl"},
		"not for long":          {[]string{"0 c1 SET lock a NX", "500 c1 PING"}, ""},
		"a TTL that comes late": {[]string{"0 c1 SETNX lock a", "5 c1 PEXPIRE lock 100"}, "ttl-in-a-second-step"},
		"a TTL in one transaction": {[]string{"0 c1 MULTI", "0 c1 SETNX lock a",
			"0 c1 PEXPIRE lock 100", "0 c1 EXEC"}, ""},
		"a write without the lock": {[]string{"0 c1 SET lock aaaa NX PX 100",
			"200 c9 SET stock {\"by\":\"aaaa\"}"}, "wrote-without-the-lock"},
		"a write over its connection": {[]string{"0 c1 SET lock aaaa NX PX 100",
			"200 c1 SET stock 5"}, "wrote-without-the-lock?"},
		"writes with the lock": {[]string{"0 c1 SET lock aaaa NX PX 100", "50 c1 SET stock aaaa"}, ""},

		"a write after it was given back, over one connection": {[]string{"0 c1 SET lock aaaa NX PX 100", "50 c1 DELIFEQ lock aaaa",
			"60 c1 SET stock 5"}, ""},
		"a value with several locks": {[]string{"0 c1 SET lock aaaa NX PX 5000", "0 c1 SET lock2 aaaa NX PX 5000", "10 c1 DELIFEQ lock2 aaaa",
			"20 c1 SET stock aaaa"}, ""},
		"a value that asks for another lock, of which nothing is known": {[]string{"0 c1 SET lock aaaa NX PX 5000", "10 c1 DELIFEQ lock aaaa",
			"20 c1 SETNX other aaaa", "200 c1 SET stock aaaa"}, ""},
		"a value that another lock's script names": {[]string{"0 c1 SET lock aaaa NX PX 100", "10 c1 EVAL x 1 other aaaa",
			"200 c1 SET stock aaaa"}, ""},
		"a name that may have a lock elsewhere": {[]string{"0 c1 SET lock aaaa NX PX 5000", "10 c1 DELIFEQ lock aaaa",
			"200 c2 SET stock aaaa"}, "wrote-without-the-lock?"},
		"a write after its own release": {[]string{"0 c1 SET lock 5f2b81c0-77ae-4d19 NX PX 5000", "10 c1 DELIFEQ lock 5f2b81c0-77ae-4d19",
			"200 c2 SET stock 5f2b81c0-77ae-4d19"}, "wrote-without-the-lock"},
		"a write that was on its way at the release": {[]string{"0 c1 SET lock 5f2b81c0-77ae-4d19 NX PX 5000",
			"10 c1 DELIFEQ lock 5f2b81c0-77ae-4d19", "12 c2 SET stock 5f2b81c0-77ae-4d19"}, "wrote-without-the-lock?"},
		"a write that names the holder, too": {[]string{"0 c1 SET lock alice NX PX 100", "200 c2 SET lock bob NX PX 100",
			"210 c2 HSET stock customer alice by bob"}, ""},
		"a write over the holder's connection": {[]string{"0 c1 SET lock alice NX PX 100", "200 c2 SET lock bob NX PX 100",
			"210 c2 HSET stock customer alice"}, "wrote-without-the-lock?"},
		"DEL, and a release to be sure": {[]string{"0 c1 SET lock a NX PX 1000", "10 c1 DEL lock", "20 c1 RELEASE a",
			"20 lua get lock"}, "deleted-without-comparing"},
		"a value of all, too late over another connection": {[]string{"0 c1 SET lock 1 NX PX 100", "200 c2 RELEASE 1",
			"200 lua get lock"}, "not-renewed-in-time?"},
		"a value of one, too late over another connection": {[]string{"0 c1 SET lock 5f2b81c0-77ae-4d19 NX PX 100",
			"200 c2 RELEASE 5f2b81c0-77ae-4d19", "200 lua get lock"}, "not-renewed-in-time"},
		"a name, too late over a connection that renewed": {[]string{"0 c1 SET lock a NX PX 100", "50 c2 EXTEND a 100", "50 lua get lock",
			"50 lua pexpire lock 100", "200 c2 RELEASE a", "200 lua get lock"}, "not-renewed-in-time"},
		"a value of all, brought back over another connection": {[]string{"0 c1 SET lock 1 NX PX 100",
			"200 c2 SET lock 1 PX 100"}, "brought-back?"},
		"a value of all, removed": {[]string{"0 c1 SET lock 1 NX PX 1000", "10 c2 DEL lock", "20 c3 RELEASE 1",
			"20 lua get lock"}, "deleted-without-comparing released-by-another? released-by-another?"},
		"a number that an owner had": {[]string{"0 c1 SET lock 0 NX PX 5", "100 c2 SET lock b NX PX 1000",
			"110 c2 PEXPIRE lock 0"}, "deleted-without-comparing"},
		"a counter":            {[]string{"0 c1 INCR lock", "2000 c1 INCR lock", "4000 c1 PEXPIRE lock 1000", "4100 c1 DEL lock"}, ""},
		"what nobody asks for": {[]string{"0 c1 SET lock a", "2000 c2 SET lock b", "4000 c1 DEL lock"}, ""},
		"what nobody asks for, till somebody does": {[]string{"0 c1 SET lock a", "10 c2 SET lock b NX",
			"2000 c1 DEL lock"}, "kept-without-ttl deleted-without-comparing"},
		"a value of several": {[]string{"0 c1 SET lock 1 NX PX 100", "10 c2 SET lock 1 NX PX 100", "200 c1 RELEASE 1",
			"200 lua get lock"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := told(t, true, c.lines...)
			if got := found(s); got != c.want {
				var b strings.Builder
				_ = s.WriteText(&b, TextOptions{Whole: true})
				t.Errorf("found %q, want %q\n%s", got, c.want, &b)
			}
		})
	}
}

// What was there before the first line is not known: nobody is accused by it, and what a holder's own command tells is known from then on.
func TestNothingIsGuessed(t *testing.T) {
	for name, c := range map[string]struct {
		lines         []string
		want          string
		holds, ranOut int
	}{
		"who has it": {[]string{"0 c1 SET lock a NX PX 100", "10 c2 SET lock b NX PX 100",
			"20 c2 SET lock c XX PX 100"}, "", 0, 0},
		"a removal": {[]string{"0 c1 SET lock a NX PX 100", "10 c2 DEL lock"}, "deleted-without-comparing?", 0, 0},
		"its own release": {[]string{"0 c1 SET lock a NX PX 100", "10 c2 SET lock b NX PX 100",
			"20 c1 RELEASE a", "20 lua get lock", "20 lua del lock"}, "", 1, 0},
		"its own renewal": {[]string{"0 c1 SET lock a NX PX 100", "20 c1 EXTEND a 500", "20 lua get lock",
			"20 lua pexpire lock 500", "30 c2 DEL lock"},
			"deleted-without-comparing released-by-another?", 1, 0},
		"a release that does not": {[]string{"0 c1 SET lock a NX PX 100", "20 c1 RELEASE a", "20 lua get lock"}, "", 0, 0},
		// c2 asks within the ms in which the key of a runs out.
		"at its end": {[]string{"0 c1 DEL lock", "0 c1 SET lock a NX PX 100", "101 c2 SET lock b NX PX 100",
			"110 c2 RELEASE b", "110 lua get lock", "110 lua del lock"}, "deleted-without-comparing?", 2, 1},
		"at its end, and after": {[]string{"0 c1 DEL lock", "0 c1 SET lock a NX PX 100", "101 c2 SET lock b NX PX 20",
			"150 c2 GET lock", "300 c3 SET lock c NX PX 100"}, "deleted-without-comparing?", 2, 1},
		"a removal of what may be there since before": {[]string{"0 c1 DEL lock"}, "deleted-without-comparing?", 0, 0},
		"a comparing one": {[]string{"0 c1 RELEASE a", "0 lua get lock", "0 lua del lock"}, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := told(t, false, append(c.lines, "1000 c9 PING")...)
			k := s.Locks()[0]
			if got := found(s); got != c.want || k.Totals.Holds != c.holds {

				t.Errorf("found %q with %d holders (%d ran out), want %q with %d", got, k.Totals.Holds, k.Totals.RanOut, c.want, c.holds)
			}
		})
	}
}

// entries reads lines of an append-only file, each with its second.
func entries(known bool, lines ...string) *Story {
	s := New(Options{Keys: fits("lock"), Resource: fits("stock"), Moments: 1000})
	kind := journal.Gap
	if known {
		kind = journal.Known
	}
	s.SeeEntry(journal.Entry{Kind: kind, DB: -1})
	for _, line := range lines {
		var second int64
		words := strings.Fields(line)
		_, _ = fmt.Sscan(words[0], &second)
		s.SeeEntry(journal.Entry{Words: words[1:], First: true, Last: true, Second: second})
	}
	s.End()
	return s
}

// An append-only file tells what was done, and not by whom: what is found in it is so.
func TestEntries(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
		// totals are those that ran out, and of which nobody knows how they ended.
		ranOut, ended int
	}{
		"a lock that runs out": {[]string{"10 SET lock a PXAT 20000", "21 DEL lock"}, "", 1, 0},
		"one that is removed":  {[]string{"10 SET lock a PXAT 20000", "12 DEL lock"}, "", 0, 1},
		"either":               {[]string{"10 SET lock a PXAT 20000", "19 DEL lock"}, "", 0, 1},
		"without times":        {[]string{"0 SET lock a PXAT 20000", "0 DEL lock"}, "", 0, 1},
		"written over":         {[]string{"0 SET lock a PXAT 20000", "0 SET lock b PXAT 21000"}, "overwritten?", 0, 0},
		"renewed": {[]string{"10 SET lock a PXAT 20000", "12 SET lock a PXAT 22000",
			"13 PEXPIREAT lock 23000", "15 DEL lock"}, "", 0, 1},
		"written after its end": {[]string{"0 SET lock aaaa PXAT 20000", "0 DEL lock",
			"0 SET lock bbbb PXAT 30000", "0 RPUSH stock aaaa"}, "wrote-without-the-lock", 0, 1},
		"written, and nobody else had it": {[]string{"0 SET lock aaaa PXAT 20000", "0 DEL lock",
			"0 RPUSH stock aaaa"}, "wrote-without-the-lock?", 0, 1},
		"written by who renewed it with a new value": {[]string{"0 SET lock aaa1 PXAT 20000", "0 SET lock aaa2 PXAT 21000",
			"0 RPUSH stock aaa1"}, "overwritten? wrote-without-the-lock?", 0, 0},
		"written before its end":      {[]string{"0 SET lock aaaa PXAT 20000", "0 RPUSH stock aaaa", "0 DEL lock"}, "", 0, 1},
		"no TTL":                      {[]string{"0 SET lock a NX", "0 DEL lock"}, "kept-without-ttl", 0, 1},
		"a TTL that comes (Redis 6.0": {[]string{"0 SET lock a", "0 PEXPIREAT lock 20000", "0 DEL lock"}, "", 0, 1},
		"SETNX":                       {[]string{"0 setnx lock a", "0 DEL lock"}, "kept-without-ttl", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, known := range []bool{true, false} {
				s := entries(known, c.lines...)
				k := s.Locks()[0]
				if got := found(s); got != c.want || k.Totals.RanOut != c.ranOut || k.Totals.Ended != c.ended {
					t.Errorf("known %v: found %q; %+v; want %q", known, got, k.Totals, c.want)
				}
			}
		})
	}
}

// A replica shows what its primary has it do: a DEL there is a correct release on the primary, or the end of a TTL.
func TestReplica(t *testing.T) {
	s := New(Options{Keys: fits("lock"), Replica: true, Moments: 10})
	for i, text := range []string{"DEL lock", "SET lock a PXAT 1700000001000", "del lock", "SET lock b PXAT 1700000001500",
		"SET lock c PXAT 1700000002000", "PEXPIREAT lock 1700000003000"} {
		s.SeeLine(monitor.Line{At: epoch + time.Duration(i)*100*time.Millisecond, Source: "primary", Args: strings.Fields(text)})
	}
	s.End()
	k := s.Locks()[0]
	if got := found(s); got != "overwritten?" || k.Totals.Holds != 3 || k.Totals.Ended != 1 || k.Totals.Renewals != 1 {
		t.Errorf("found %q, %+v", got, k.Totals)
	}
}

// What the server says ends a doubt. What it says that nothing explains is found.
func TestFound(t *testing.T) {
	at := func(ms int64) Time { return Time{At: epoch + time.Duration(ms)*time.Millisecond} }
	has := func(value string, ms int64) command.Key {
		return command.Key{Holds: command.Text, Value: value, Expires: command.At(epoch.Milliseconds() + ms)}
	}
	line := func(ms int64, source, text string) monitor.Line {
		return monitor.Line{At: at(ms).At, Source: source, Args: strings.Fields(text)}
	}
	for name, c := range map[string]struct {
		is              command.Key
		evicted, missed bool
		want            string
		holder          string
	}{
		"as it was":             {is: has("a", 1000), holder: `"a"`},
		"evicted":               {evicted: true, want: "evicted"},
		"gone":                  {want: "vanished"},
		"gone, while away":      {missed: true, want: "vanished?"},
		"another's":             {is: has("b", 1000), want: "vanished", holder: `"b"`},
		"what cannot be told":   {is: command.Key{Holds: command.Unclear}, holder: `"a"`},
		"evicted others' alone": {is: has("a", 1000), evicted: true, holder: `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Keys: fits("lock"), Moments: 10})
			s.SeeLine(line(0, "c1", "SET lock a NX PX 1000"))
			k := s.Locks()[0]
			if !k.Unclear() {
				t.Fatal("it is known who has a lock of which nothing was known")
			}
			if k.Found(has("a", 1000), at(1), false, false); k.Unclear() || k.hold.Source != "c1" {
				t.Fatalf("the server says whose it is, and the story has %+v", k.hold)
			}
			k.Found(c.is, at(100), c.evicted, c.missed)
			holder := ""
			if k.hold != nil {
				holder = k.hold.Owner
			}
			if got := found(s); got != c.want || holder != c.holder {
				t.Errorf("found %q with the holder %q, want %q with %q", got, holder, c.want, c.holder)
			}
		})
	}
}

// However much there is, what is kept is bounded, and what is left out is said.
func TestBounds(t *testing.T) {
	s := New(Options{Keys: fits("lock"), Moments: 5})
	s.absent = true
	at := epoch
	for i := range 3 * mostPast {
		at += time.Millisecond
		s.SeeLine(monitor.Line{At: at, Source: fmt.Sprint("c", i), Args: []string{"SET", "lock", fmt.Sprint("value", i), "NX", "PX", "100000"}})
		s.SeeLine(monitor.Line{At: at, Source: fmt.Sprint("c", i), Args: []string{"DEL", "lock"}})
		s.SeeLine(monitor.Line{At: at, Source: fmt.Sprint("c", i), Args: []string{"SET", fmt.Sprint("lock", i%(2*mostLocks)), "1"}})
	}
	for i := range mostLocks {
		s.SeeLine(monitor.Line{At: at, Source: "c", Args: []string{"SET", fmt.Sprint("lock-", i), "1"}})
	}
	k := s.Locks()[0]
	if len(k.Moments) != 5 || k.Earlier == 0 || len(k.past) > mostPast || len(k.Findings) != firsts || k.Counts[NotCompared] != 3*mostPast {
		t.Errorf("%d moments, %d past, %d findings, %v", len(k.Moments), len(k.past), len(k.Findings), k.Counts)
	}
	if s.Left.Keys == 0 || len(s.Locks()) != mostLocks {
		t.Errorf("left out: %+v, of %d locks", s.Left, len(s.Locks()))
	}
	var b strings.Builder
	err := s.WriteText(&b, TextOptions{})
	if err != nil || !strings.Contains(b.String(), "left out: ") || !strings.Contains(b.String(), "3,000 times in all") {
		t.Errorf("%v: %.3000s", err, b.String())
	}
}

// Locks that are over give way to others, and what befell them is told in sum. A lock that is held stays, and so does one of which
// something was found.
func TestLocksThatAreOverGiveWay(t *testing.T) {
	dropped := 0
	s := New(Options{Keys: fits("lock"), Resource: fits("stock"), Moments: 5, Dropped: func(*Lock) { dropped++ }})
	s.absent = true
	line := func(ms int, text string) {
		s.SeeLine(monitor.Line{At: epoch + time.Duration(ms)*time.Millisecond, Source: "c", Args: strings.Fields(text)})
	}
	line(0, "SET lock-held a NX PX 100000000")
	line(0, "SET lock-found a NX PX 1000")
	line(1, "DEL lock-found")
	for i := range 2 * mostLocks {
		line(i+2, fmt.Sprintf("SET lock%d value%d NX PX 1000", i, i))
		line(i+2, fmt.Sprintf("DELIFEQ lock%d value%d", i, i))
	}
	s.End()
	if s.Left.Keys > 0 || dropped != s.Over.Locks || len(s.Locks())+dropped != 2*mostLocks+2 || len(s.values) > len(s.Locks()) {
		t.Errorf("left out %+v, over %+v, %d dropped, %d followed with %d values", s.Left, s.Over, dropped, len(s.Locks()), len(s.values))
	}
	if t := s.Over.Totals; t.Released != s.Over.Locks || t.Holds != s.Over.Locks {
		dropped = -1
	}
	if dropped < 0 || s.locks[id{0, "lock-held"}] == nil || s.locks[id{0, "lock-found"}] == nil {
		t.Errorf("%+v", s.Over)
	}
	var b strings.Builder
	_ = s.WriteText(&b, TextOptions{})
	if !strings.Contains(b.String(), "locks that were over gave way to others: ") || !strings.Contains(b.String(), "of 20,002 locks") {
		t.Errorf("%.2000s", b.String())
	}
}

// A lock of which nobody knows when it ended was not held beyond the moment in which that was seen.
func TestHeldNoLongerThanSeen(t *testing.T) {
	s := New(Options{Keys: fits("lock"), Moments: 10})
	s.absent = true
	s.SeeLine(monitor.Line{At: epoch, Source: "c1", Args: strings.Fields("SET lock a NX PX 100000")})
	s.Forget("nobody looked")
	k := s.Locks()[0]
	k.Found(command.Key{}, Time{At: epoch + time.Second}, false, false)
	if s.End(); k.Totals.Held != time.Second || k.Totals.Ended != 1 {
		t.Errorf("%+v", k.Totals)
	}
}

// Nothing that clients send is obeyed by a terminal.
func TestHostileText(t *testing.T) {
	s := told(t, true, "0 c\x1b[31m1 SET lock\x1b[31m \x1b]0;x\x07\u202e NX PX 100", "10 c2 DEL lock\x1b[31m")
	var b strings.Builder
	_ = s.WriteText(&b, TextOptions{Whole: true})
	if strings.ContainsFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == '\u202e' }) {
		t.Errorf("%q", b.String())
	}
}

// Each kind has its line.
func TestKinds(t *testing.T) {
	if list := Kinds.Words(); len(slices.Compact(slices.Sorted(slices.Values(list)))) != len(list) || Kinds.Title(VanishedKey) == "" {
		t.Errorf("%v", list)
	}
}

func FuzzStory(f *testing.F) {
	f.Add("SET lock a NX PX 10\nEVAL x 1 lock\n" +
		">get lock\n>del lock\nMULTI\nDEL lock\nEXEC\nFLUSHALL\nHSET lock a 1 b 2\nBLPOP lock 0")
	f.Fuzz(func(_ *testing.T, text string) {
		s := New(Options{Keys: fits("lock"), Resource: fits("stock"), Moments: 10})
		at := epoch
		for line := range strings.Lines(text) {
			at += 7 * time.Millisecond
			source := "c"
			if rest, script := strings.CutPrefix(line, ">"); script {
				line, source = rest, monitor.Script
			}
			if words := strings.Fields(line); len(words) > 0 {
				s.SeeLine(monitor.Line{At: at, Source: source, Args: words})
				s.SeeEntry(journal.Entry{Words: words, First: true, Last: true, Second: 5})
			}
		}
		s.End()
		_ = s.WriteText(&strings.Builder{}, TextOptions{Whole: true})
	})
}

// lookedAt is what lines of MONITOR tell of the locks lock:*, with a resource order:*.
func lookedAt(t *testing.T, lines ...string) *Story {
	t.Helper()
	begins := func(prefix string) Keys { return fits(prefix) }
	s := New(Options{Keys: begins("lock:"), Resource: begins("order:"), Moments: 50})
	for i, text := range lines {
		line, err := monitor.Parse(fmt.Sprintf("%d.000000 %s", 1795856080+i, text))
		if err != nil {
			t.Fatal(err)
		}
		s.SeeLine(line)
	}
	s.End()
	return s
}

// What a correct client does is a question at most.
func TestCorrectClientsAreNotAccused(t *testing.T) {
	const begins = `[0 h:1] "DEL" "lock:a"`
	take := func(owner string) string { return `[0 h:1] "SET" "lock:a" "` + owner + `" "NX" "PX" "60000"` }
	const a, b = "73a1c7a508cd426396a0d28215cb8dd4", "f52a3f19a092447c8d782cd92e8c4f5b"
	release := []string{`[0 h:1] "EVAL" "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end" "1" "lock:a" "` +
		a + `"`,
		`[0 lua] "get" "lock:a"`, `[0 lua] "del" "lock:a"`}
	for name, c := range map[string]struct {
		lines []string
		locks int
	}{
		"another database is flushed": {[]string{begins, take(a), `[3 h:2] "FLUSHDB"`}, 1},
		"others are swapped":          {[]string{begins, take(a), `[3 h:2] "SWAPDB" "3" "4"`, `[3 h:2] "FLUSHDB"`}, 1},
		"it renews by WATCH": {[]string{begins, take(a), `[0 h:1] "WATCH" "lock:a"`, `[0 h:1] "GET" "lock:a"`, `[0 h:1] "MULTI"`,
			`[0 h:1] "SET" "lock:a" "` + b + `" "PX" "60000"`, `[0 h:1] "EXEC"`}, 1},
		"a document names who wrote it first": {slices.Concat(
			[]string{begins, take(a), `[0 h:1] "SET" "order:a" "{\"by\":\"` + a + `\"}"`}, release,
			[]string{`[0 h:2] "SET" "lock:a" "` + b + `" "NX" "PX" "60000"`, `[0 h:3] "SET" "order:a" "{\"by\":\"` + a + `\",\"n\":2}"`}), 1},
	} {
		s := lookedAt(t, c.lines...)
		if findings, _ := s.Tally(); findings > 0 || len(s.Locks()) != c.locks {
			var text strings.Builder
			_ = s.WriteText(&text, TextOptions{Whole: true})
			t.Errorf("%s: %d findings, %d locks\n%s", name, findings, len(s.Locks()), &text)
		}
	}
}

// A script that was called in another database is who ended the lock, and not the client before it.
func TestScriptOfAnotherDatabase(t *testing.T) {
	s := New(Options{Keys: fits("lock:"), Moments: 50})
	for i, text := range []string{`[0 h:1] "DEL" "lock:a"`, `[0 h:1] "SET" "lock:a" "w1" "NX" "PX" "60000"`,
		`[3 h:2] "EVAL" "redis.call('select',0) return redis.call('del','lock:a')" "0"`, `[0 lua] "del" "lock:a"`} {
		line, err := monitor.Parse(fmt.Sprintf("%d.000000 %s", 1795856080+i, text))
		if err != nil {
			t.Fatal(err)
		}
		if line.DB == 0 {
			s.SeeLine(line)
		} else {
			s.SeeElsewhere(line)
		}
	}
	s.End()
	found := func(f *Finding) bool { return !f.Question && strings.Contains(f.Text, "h:2") }
	if list := s.Locks(); len(list) != 1 || !slices.ContainsFunc(list[0].Findings, found) {
		var text strings.Builder
		_ = s.WriteText(&text, TextOptions{Whole: true})
		t.Error(text.String())
	}
}
