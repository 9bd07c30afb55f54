package locklog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
)

// script writes the lines of one process. Times are in ms; its wall clock is off by so much.
type script struct {
	host, process string
	off           int64
	lines         []string
}

func (s *script) at(ms int64, event string, hold int64, more string) *script {
	s.lines = append(s.lines, fmt.Sprintf(
		`{"locklog":1,"host":%q,"process":%q,"line":%d,"wall":%d,"mono":%d,"event":%q,"hold":%d,"lock":"orders"%s}`,
		s.host, s.process, len(s.lines), 1_764_330_000_000_000+(ms+s.off)*1000, ms*1000, event, hold, more))
	return s
}

// without leaves lines out.
func (s *script) without(from, to int) *script {
	s.lines = append(s.lines[:from:from], s.lines[to:]...)
	return s
}

func read(t *testing.T, bound time.Duration, scripts ...*script) *history.History {
	t.Helper()
	var log locklog.Log
	for i, s := range scripts {
		if err := log.Read(fmt.Sprintf("%d.locklog", i), strings.NewReader(strings.Join(s.lines, "\n")+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	h, err := log.History(bound)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func verdict(t *testing.T, p checker.Property, h *history.History) checker.Finding {
	t.Helper()
	return checker.Judge(t.Context(), h, []checker.Property{p}, checker.Options{})[0]
}

func expect(t *testing.T, name string, p checker.Property, want checker.Verdict, h *history.History) {
	t.Helper()
	if f := verdict(t, p, h); f.Verdict != want {
		t.Errorf("%s: %s is %s (%s), want %s", name, p, f.Verdict, f.Why, want)
	}
}

func web(host string) *script { return &script{host: host, process: "1"} }

const ttl = `,"ttl":10000000`

// TestClockError: what the clocks of two hosts leave open is unknown; those of one host are one.
func TestClockError(t *testing.T) {
	a := func() *script {
		return web("a").at(0, "asked", 1, "").at(1, "granted", 1, ttl).at(100, "releasing", 1, "").at(101, "released", 1, "")
	}
	b := func(host string, granted int64) *script {
		s := (&script{host: host, process: "2"}).at(50, "asked", 1, "").at(granted, "granted", 1, ttl)
		return s.at(300, "releasing", 1, "").at(301, "released", 1, "")
	}
	for _, c := range []struct {
		host    string
		granted int64
		bound   time.Duration
		want    checker.Verdict
	}{
		{"b", 70, 20 * time.Millisecond, checker.Violated}, {"b", 70, 30 * time.Millisecond, checker.Unknown},
		{"b", 70, time.Second, checker.Unknown}, {"b", 110, 20 * time.Millisecond, checker.Holds}, {"a", 70, time.Second, checker.Violated},
		{"b", 110, 60 * time.Millisecond, checker.Unknown}, // it is not sure that the second ever waited
	} {
		expect(t, fmt.Sprint(c), checker.ExclusiveLease, c.want, read(t, c.bound, a(), b(c.host, c.granted)))
	}
}

// TestSetClock: a clock that was set while a process ran makes nothing of it certain to others, and is no reason to doubt itself.
func TestSetClock(t *testing.T) {
	hold := func(s *script, from, to int64, n int64) *script {
		return s.at(from, "asked", n, "").at(from+1, "granted", n, ttl).at(to, "releasing", n, "").at(to+1, "released", n, "")
	}
	stepped := web("a")
	hold(stepped, 0, 100, 1)
	stepped.off = 2000
	hold(stepped, 200, 300, 2)
	other := &script{host: "a", process: "2"}
	hold(other, 50, 250, 1)
	h := read(t, 0, stepped, other)
	if got := h.Clocks.List[0].Step; got != 2*time.Second {
		t.Errorf("the clock was seen to step by %s, want 2s", got)
	}
	if f := verdict(t, checker.ExclusiveLease, h); f.Verdict == checker.Violated {
		t.Errorf("violated by a clock that was set: %s", f.Why)
	}
	// The process's own times are right: the second hold ends 100 ms after it began.
	for i := range h.Events {
		if e := &h.Events[i]; i > 0 && e.Time < h.Events[i-1].Time {
			t.Errorf("event %d goes back", i)
		}
	}
	// A clock that runs off slowly, as NTP slews it, is not set.
	slewed := web("a")
	for i := range int64(50) {
		slewed.off = i / 3
		hold(slewed, i*10_000, i*10_000+100, i)
	}
	if got := read(t, 0, slewed).Clocks.List[0].Step; got != 0 {
		t.Errorf("a slow clock was seen to step by %s", got)
	}
}

// TestMissingLines: where lines are missing nothing is violated by what they may have said, and nothing holds.
func TestMissingLines(t *testing.T) {
	a := func() *script {
		return web("a").at(0, "asked", 1, "").at(1, "granted", 1, "").at(100, "releasing", 1, "").at(101, "released", 1, "").
			at(900, "asked", 2, "").at(901, "granted", 2, ttl).at(950, "releasing", 2, "").at(951, "released", 2, "")
	}
	b := func() *script {
		return web("b").at(50, "asked", 1, "").at(200, "granted", 1, ttl).at(300, "releasing", 1, "").at(301, "released", 1, "")
	}
	expect(t, "all lines", checker.ExclusiveLease, checker.Holds, read(t, time.Millisecond, a(), b()))
	for name, cut := range map[string][2]int{"the release": {2, 4}, "the first": {0, 2}} {
		h := read(t, time.Millisecond, a().without(cut[0], cut[1]), b())
		if f := verdict(t, checker.ExclusiveLease, h); f.Verdict != checker.Unknown || h.Clocks.Missing == "" {
			t.Errorf("without %s: %s (%s), missing %q", name, f.Verdict, f.Why, h.Clocks.Missing)
		}
	}
	// A process that was killed held its lock for as long as it told of anything.
	killed := a().without(2, 8)
	if f := verdict(t, checker.ExclusiveLease, read(t, time.Millisecond, killed, b())); f.Verdict == checker.Violated {
		t.Errorf("violated after its last line: %s", f.Why)
	}
	// Lines that were collected twice are one.
	twice := a()
	twice.lines = append(twice.lines, twice.lines[2:5]...)
	expect(t, "lines twice", checker.ExclusiveLease, checker.Holds, read(t, time.Millisecond, twice, b()))
}

// TestTold: whether a holder was told that it had lost the lock, and at its release.
func TestTold(t *testing.T) {
	a := func(granted string, ends ...string) *script {
		s := web("a").at(0, "asked", 1, "").at(1, "granted", 1, granted)
		for i, e := range ends {
			s.at(30_000+int64(i), e, 1, "")
		}
		return s.at(60_000, "asked", 2, "")
	}
	b := web("b").at(15_000, "asked", 1, "").at(15_001, "granted", 1, ttl).at(16_000, "releasing", 1, "").at(16_001, "released", 1, "")
	const renews = ttl + `,"renews":true`
	for _, c := range []struct {
		name string
		p    checker.Property
		a    *script
		want checker.Verdict
	}{
		{"a release that says that it gave back what another has", checker.ToldAtRelease, a(ttl, "releasing", "released"), checker.Violated},
		{"a release in vain", checker.ToldAtRelease, a(ttl, "releasing", "released-in-vain"), checker.Holds},
		{"a lock that renews itself", checker.ToldAtRelease, a(renews, "releasing", "released"), checker.Unknown},
		{"a holder that is not told", checker.ToldWhenLost, a(renews, "releasing", "released"), checker.Violated},
		{"a holder that knows its validity", checker.ToldWhenLost, a(ttl, "releasing", "released"), checker.Unknown},
	} {
		expect(t, c.name, c.p, c.want, read(t, time.Second, c.a, b))
	}
	told := web("a").at(0, "asked", 1, "").at(1, "granted", 1, renews).at(17_000, "lost", 1, "").at(60_000, "asked", 2, "")
	expect(t, "a holder that is told", checker.ToldWhenLost, checker.Holds, read(t, time.Second, told, b))
	expect(t, "clocks too far apart", checker.ToldWhenLost, checker.Unknown, read(t, 20*time.Second, a(renews, "releasing", "released"), b))
}

// TestOneOwner: holds of one process with one owner value are those of a re-entrant client.
func TestOneOwner(t *testing.T) {
	const o = ttl + `,"owner":"o"`
	twice := func(owner string) *script {
		return web("a").at(0, "asked", 1, "").at(1, "granted", 1, o).at(2, "asked", 2, "").at(3, "granted", 2, owner).
			at(4, "releasing", 2, "").at(5, "released", 2, "").at(6, "releasing", 1, "").at(7, "released", 1, "")
	}
	if f := verdict(t, checker.ExclusiveLease, read(t, 0, twice(o))); f.Verdict == checker.Violated {
		t.Error(f.Why)
	}
	expect(t, "another owner", checker.ExclusiveLease, checker.Violated, read(t, 0, twice(ttl+`,"owner":"p"`)))
}

// TestBadLines: what is wrong with a line is said with file and line.
func TestBadLines(t *testing.T) {
	good := web("a").at(0, "asked", 1, "").lines[0]
	change := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for _, c := range []struct{ line, want string }{
		{`{"locklog":1,"host":"a`, ""}, // of which only the beginning could be written
		{"", ""},
		{`{"host":1`, "log:2: not a line of a lock log: unexpected EOF"},
		{change(`"a"`, `"\ud800"`), `log:2: the host "�" is not text`},
		{`[]`, "log:2: not a line of a lock log: json: cannot unmarshal array"},
		{good + good, "log:2: more than one value on the line"},
		{change(`"locklog":1`, `"locklog":2`), "log:2: locklog 2: this program reads version 1"},
		{change(`"asked"`, `"took"`), `log:2: event "took": want one of [asked granted`},
		{change(`"host":"a"`, `"host":""`), "log:2: no host"},
		{change(`"hold":1`, `"hold":-1`), "log:2: hold -1: want 0 to"},
		{change(`"hold":1`, `"hold":1,"tll":1`), `unknown field "tll"`},
		{change(`"hold":1`, `"hold":1,"ttl":1`), `log:2: asked has no field "ttl"`},
		{change(`"hold":1`, `"hold":1,"owner":"`+strings.Repeat("x", 5000)+`"`), "log:2: the owner has more than 4096 bytes"},
		{change(`"hold":1`, `"hold":1,"owner":"`+strings.Repeat("x", 70000)+`"`), "log:2: longer than 65536 bytes"},
		{change(`"a"`, "\"\xff\""), "log:2: not UTF-8"},
		{change(`"asked"`, `"granted"`), "log:2: line 0 of process \"1\" differs from that at log:1"},
		{strings.Replace(change(`"line":0`, `"line":2`), `"asked"`, `"lost"`, 1), ""}, // lines are missing
		{strings.Replace(change(`"line":0`, `"line":1`), `"asked"`, `"released"`, 1),
			`log:2: hold 1 of process "1": released, and not granted before`},
		{strings.Replace(change(`"line":0`, `"line":1`), `"hold":1,`, `"hold":2,`, 1), ""},
	} {
		var log locklog.Log
		err := log.Read("log", strings.NewReader(good+"\n"+c.line+"\n"))
		if err == nil {
			_, err = log.History(0)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("of %.120s: %v, want %q", c.line, err, c.want)
		}
	}
	if _, err := new(locklog.Log).History(0); err == nil {
		t.Error("an empty log is one")
	}
	few := locklog.Log{MaxLines: 1}
	err := few.Read("log", strings.NewReader(good+"\n"+good+"\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "log:2: more than 1 lines") {
		t.Error(err)
	}
}

// TestHostileNames: no name reaches a terminal as it is.
func TestHostileNames(t *testing.T) {
	a, b := &script{host: "a\x1b[2J", process: "1\u202e"}, web("b")
	for _, s := range []*script{a, b} {
		s.at(0, "asked", 1, "").at(1, "granted", 1, ttl+`,"owner":"\u001b]0;"`).at(500, "releasing", 1, "").at(501, "released", 1, "")
	}
	for i := range a.lines { // JSON's escapes, not Go's
		a.lines[i] = strings.NewReplacer(`\x1b`, `\u001b`).Replace(strings.Replace(a.lines[i], `"orders"`, `"or\u001bders"`, 1))
		b.lines[i] = strings.Replace(b.lines[i], `"orders"`, `"or\u001bders"`, 1)
	}
	f := verdict(t, checker.ExclusiveLease, read(t, time.Millisecond, a, b))
	text, err := json.Marshal(f)
	if err != nil || f.Verdict != checker.Violated {
		t.Fatal(err, f)
	}
	if all := f.Why + string(text); strings.ContainsAny(all, "\x1b\u202e") || strings.Contains(all, `\u001b`) {
		t.Errorf("a name with control characters: %q", all)
	}
}

// FuzzRead: no input makes the reader or the judges panic.
func FuzzRead(f *testing.F) {
	s := web("a").at(0, "asked", 1, "").at(1, "granted", 1, ttl+`,"token":3`).at(2, "renewed", 1, ttl+`,"took":100`).
		at(3, "write-done", 1, `,"took":1`).at(4, "lost", 1, "").at(5, "releasing", 1, "").at(6, "released", 1, "")
	f.Add(strings.Join(s.lines, "\n") + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		log := locklog.Log{MaxLines: 100}
		if log.Read("log", strings.NewReader(text)) != nil {
			return
		}
		h, err := log.History(time.Millisecond)
		if err != nil {
			return
		}
		for _, f := range checker.Judge(t.Context(), h, checker.SafetyProperties(checker.SubjectOf(h)), checker.Options{}) {
			if strings.Contains(f.Why, "the time goes back") || strings.Contains(f.Why, "is numbered") {
				t.Errorf("%s: %s", f.Property, f.Why)
			}
		}
	})
}
