package keystory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
)

// sampled is the story of events and samples such as "100 set", "105 is a 1000" (the value, the TTL; - is none), "300 is -" (no key).
func sampled(t *testing.T, gaps bool, lines ...string) *Story {
	t.Helper()
	s := New(Options{Keys: fits("lock"), Events: true, Moments: 100})
	for _, line := range lines {
		var ms int64
		words := strings.Fields(line)
		if _, err := fmt.Sscan(words[0], &ms); err != nil {
			t.Fatal(err)
		}
		at := Time{At: epoch + time.Duration(ms)*time.Millisecond}
		if words[1] != "is" {
			s.SeeEvent(0, "lock", words[1], at)
			continue
		}
		is := command.Key{}
		if words[2] != "-" {
			is = command.Key{Holds: command.Text, Value: words[2]}
			if words[3] != "-" {
				var ttl int64
				_, _ = fmt.Sscan(words[3], &ttl)
				is.Expires = command.At(at.At.Milliseconds() + ttl)
			}
		}
		s.Follow(0, "lock").Sampled(is, at, gaps)
	}
	s.End()
	return s
}

// What events and samples tell is told, and nobody is accused by what they do not tell.
func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
		// totals: holders, those that ran out, those of which nobody knows how they ended, those that ended otherwise, renewals.
		totals string
	}{
		"one that is removed":     {[]string{"0 is -", "10 set", "10 expire", "15 is a 1000", "50 del"}, "", "1 0 1 0 0"},
		"one that runs out":       {[]string{"0 is -", "10 set", "15 is a 1000", "1020 expired"}, "", "1 1 0 0 0"},
		"one that is renewed":     {[]string{"0 is -", "10 set", "15 is a 1000", "500 expire", "505 is a 1000", "600 del"}, "", "1 0 1 0 1"},
		"one that was there":      {[]string{"0 is a 1000", "50 del"}, "", "1 0 1 0 0"},
		"one that nobody saw":     {[]string{"0 is -", "10 set", "11 del", "12 is -"}, "", "1 0 1 0 0"},
		"two, of which one":       {[]string{"0 is -", "10 set", "11 del", "12 set", "15 is b 1000", "30 del"}, "", "2 0 2 0 0"},
		"evicted":                 {[]string{"0 is a 1000", "50 evicted"}, "evicted", "1 0 0 1 0"},
		"overwritten":             {[]string{"0 is a 1000", "50 set", "55 is b 1000", "60 del"}, "overwritten?", "2 0 1 1 0"},
		"all keys are gone":       {[]string{"0 is a 1000", "500 is -"}, "vanished?", "1 0 0 1 0"},
		"gone at its end":         {[]string{"0 is a 1000", "1100 is -"}, "", "1 1 0 0 0"},
		"a TTL that goes":         {[]string{"0 is a 1000", "10 persist", "15 is a -", "1200 is a -"}, "kept-without-ttl", "1 0 0 0 0"},
		"a counter":               {[]string{"0 incrby", "5 is 1 -", "2000 incrby", "2005 is 2 -", "3000 is 2 -"}, "", "2 0 1 0 0"},
		"a lease in the value":    {[]string{"0 is 1700000001000 -", "2000 set", "2005 is 1700000009000 -"}, "", "2 0 1 0 0"},
		"what holds no lock":      {[]string{"0 is a -", "5000 is a -"}, "kept-without-ttl", "1 0 0 0 0"},
		"a lock that is asked on": {[]string{"0 is a 1000", "100 is a 900", "200 is a 800"}, "", "1 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sampled(t, false, c.lines...)
			tt := s.Locks()[0].Totals
			totals := fmt.Sprint(tt.Holds, tt.RanOut, tt.Ended, tt.Removed, tt.Renewals)
			if got := found(s); got != c.want || totals != c.totals {
				var b strings.Builder
				_ = s.WriteText(&b, TextOptions{Whole: true})
				t.Errorf("found %q, totals %s, want %q, %s\n%s", got, totals, c.want, c.totals, &b)
			}
		})
	}
}

// Where events may be missed, nobody is accused by what is between two samples.
func TestSamplesWithGaps(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"another":                  {[]string{"0 is a 1000", "100 is b 1000"}, ""},
		"gone":                     {[]string{"0 is a 1000", "100 is -"}, ""},
		"set, and another":         {[]string{"0 is a 1000", "50 set", "100 is b 1000"}, ""},
		"no TTL, and a name":       {[]string{"0 is a 10", "5 is a -", "1500 is a -"}, "kept-without-ttl?"},
		"no TTL, and one's own":    {[]string{"0 is 5f2b81c0-77ae-4d19 -", "1500 is 5f2b81c0-77ae-4d19 -"}, "kept-without-ttl"},
		"a TTL at most for an end": {[]string{"0 is a 100", "500 is -"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := found(sampled(t, true, c.lines...)); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// Where nobody looked for a while, nobody is accused by what was before and what came after together, and who has the lock still is
// counted once.
func TestPause(t *testing.T) {
	s := New(Options{Keys: fits("lock"), Resource: fits("stock"), Moments: 100})
	s.absent = true
	line := func(ms int, source, text string) {
		s.SeeLine(monitor.Line{At: epoch + time.Duration(ms)*time.Millisecond, Source: source, Args: strings.Fields(text)})
	}
	line(0, "c1", "SET lock-1 aaaa NX PX 100")
	line(0, "c2", "SET lock-2 bbbb NX PX 60000")
	line(0, "c3", "SET lock-3 cccc NX PX 60000")
	line(1000, "c9", "PING")
	s.Pause("nobody looks")
	k := s.locks[id{0, "lock-2"}]
	line(10_000, "c9", "PING")
	k.Found(command.Key{Holds: command.Text, Value: "bbbb", Expires: command.At(epoch.Milliseconds() + 60_000)}, s.Last, false, true)
	s.locks[id{0, "lock-3"}].Found(command.Key{}, s.Last, false, true)
	line(10_100, "c1", "SET stock aaaa")
	line(10_200, "c1", "EVAL "+release+" 1 lock-1 aaaa")
	line(10_200, "lua", "get lock-1")
	line(10_300, "c3", "EVAL "+release+" 1 lock-3 cccc")
	line(10_300, "lua", "get lock-3")
	line(11_000, "c2", "DELIFEQ lock-2 bbbb")
	s.End()
	if got := found(s); got != "" || k.Totals.Holds != 1 || k.Totals.Released != 1 || k.Totals.Held != 2*time.Second {
		t.Errorf("found %q, %+v", got, k.Totals)
	}
}
