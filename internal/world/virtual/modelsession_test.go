//go:build linux && amd64

package virtual_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// observed is what was done at an instant, and what came of it.
type observed struct {
	at        time.Duration
	what, got string
}

func (o observed) String() string {
	return fmt.Sprintf("%.5f s %s -> %s", o.at.Seconds(), o.what, o.got)
}

// touch is an instant at which a key is asked for, because it has just run out.
type touch struct {
	at  time.Duration
	key string
}

// session is a trial on one of the two.
type session struct {
	*trial
	// model is that on which it is made; nil: it is made on servers. touches says what was asked for on the model, gaps how long it waited.
	model    *virtual.World
	touches  []touch
	gaps     []time.Duration
	w        checked
	wallZero time.Duration
	// conns are those of the first node: two in bytes, of which the second speaks version 3, two of built-in clients, and one that
	// looks. primary is where they lead to.
	conns   []*virtual.Direct
	primary string
	// queued are the commands of open transactions.
	queued [2][]string
	now    time.Duration
	seen   []observed
}

const (
	grain = 10 * time.Microsecond
	// A byte connection's number is below builtIn; looking is that of who looks.
	builtIn, looking = 2, 4
)

// run makes the steps.
func (s *session) run(t *testing.T, w checked) {
	t.Helper()
	defer func() {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	s.w = w
	if err := w.Start(world.Hooks{}); err != nil {
		t.Fatal(err)
	}
	s.wallZero, s.primary = w.WallZero(), "A"
	s.now = time.Millisecond - s.wallZero%grain
	w.Go(func() {
		s.until(s.now)
		s.connect()
		for i := range s.steps {
			s.pass(s.gapBefore(&s.steps[i]))
			s.do(&s.steps[i])
		}
		s.pass(200 * time.Millisecond)
		s.look()
	})
	w.Wait()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

func (s *session) until(at time.Duration) { s.w.Sleep(at - s.w.Now()) }

// gapBefore is how long to wait before a step.
func (s *session) gapBefore(p *step) time.Duration {
	return s.found(func() time.Duration {
		if at, ends := s.nextEnd(); ends && p.edge != noEdge {
			if p.edge == lastMillisecond {
				at -= time.Millisecond
			}
			if to := at - s.now; to > grain && to < 2*time.Second {
				return to
			}
		}
		return p.gap
	})
}

// nextEnd is when a key of the model has run out, and who watches knows.
func (s *session) nextEnd() (at time.Duration, ends bool) {
	at, key := s.model.NextExpiry(s.primary)
	return at + 3*grain, key != ""
}

// settle waits until no key runs out within the time of a look.
func (s *session) settle() {
	for range 5 {
		s.pass(s.found(func() time.Duration {
			if at, ends := s.nextEnd(); ends && at > s.now && at-s.now < lookTakes {
				return at - s.now
			}
			return 0
		}))
	}
}

// found is a length of time that depends on the model's state: it is kept for the servers.
func (s *session) found(gap func() time.Duration) (d time.Duration) {
	if s.model == nil {
		d, s.gaps = s.gaps[0], s.gaps[1:]
		return d
	}
	d = gap()
	s.gaps = append(s.gaps, d)
	return d
}

// pass lets time pass. Where keys are watched, each is asked for when it has run out.
func (s *session) pass(gap time.Duration) {
	if s.nodes[0].Persistence == world.RDB { // a snapshot has all that came before the server came to make it
		gap = max(gap, looksWithin)
	}
	end := s.now + gap
	for s.watched || s.nodes[0].Persistence == world.AOFEverysec { // a removal is a write, which may be the one that is synced
		next, ok := s.nextTouch()
		if !ok || next.at > end {
			break
		}
		if s.model != nil {
			s.touches = append(s.touches, next)
		} else {
			s.touches = s.touches[1:]
		}
		s.until(next.at)
		s.now = next.at
		s.send(looking, "EXISTS", next.key)
		end = max(end, s.now+grain)
	}
	s.now = end
	s.until(end)
	if p := s.nodes[0].Persistence; p == world.RDB || p == world.AOFEverysec {
		// A server looks a hundred times a second what there is to save, a model looks when somebody asks.
		clock, _ := s.w.NodeTime(s.primary)
		if late := clock % time.Second; late < looksWithin {
			s.now += (looksWithin - late).Truncate(grain)
			s.until(s.now)
		}
	}
}

// nextTouch is what is asked for next: on the model it is found, on servers it is known.
func (s *session) nextTouch() (next touch, ok bool) {
	if s.model == nil {
		if len(s.touches) == 0 {
			return next, false
		}
		return s.touches[0], true
	}
	next.at, next.key = s.model.NextExpiry(s.primary)
	next.at = max(next.at, s.now+grain)
	return next, next.key != ""
}

// looksWithin is how long a server needs at most to see that a second has begun, and to save what there is.
const looksWithin = 30 * time.Millisecond

// connect opens all connections.
func (s *session) connect() {
	s.conns, s.queued = nil, [2][]string{}
	unknown := func(what string) { s.see("the model", "does not know "+what) }
	for range looking + 1 {
		s.conns = append(s.conns, s.w.Direct(s.primary, s.as, unknown))
	}
	s.send(1, "HELLO", "3")
	if s.as != (command.Server{}) { // the model says that it is Redis 7.0
		s.seen = s.seen[:len(s.seen)-1]
	}
}

func (s *session) see(what, got string) { s.seen = append(s.seen, observed{s.now, what, got}) }

// collect takes in what has come to all connections.
func (s *session) collect(what string, from int, words []string) {
	s.now += grain
	s.until(s.now)
	var got []string
	for i, d := range s.conns {
		text, waits := d.Take()
		switch {
		case waits:
			got = append(got, fmt.Sprintf("%d: waits", i))
		case text != "" && i != builtIn && i != builtIn+1:
			got = append(got, fmt.Sprintf("%d: %q", i, s.alike(i == from, words, text)))
		case text != "":
			got = append(got, fmt.Sprintf("%d: %s", i, text))
		}
		if d.Broken() {
			s.conns[i] = s.w.Direct(s.primary, s.as, func(string) {})
			got = append(got, fmt.Sprintf("%d: closed", i))
		}
	}
	s.see(what, strings.Join(got, ", "))
}

// send sends a command in bytes.
func (s *session) send(conn int, words ...string) {
	words = s.instants(words)
	s.conns[conn].Send(words...)
	s.collect(fmt.Sprintf("%d: %q", conn, words), conn, words)
	if conn < builtIn && len(words) > 0 {
		switch name := strings.ToLower(words[0]); name {
		case "multi", "exec", "discard", "reset":
			s.queued[conn] = nil
		default:
			s.queued[conn] = append(s.queued[conn], name, strings.ToLower(strings.Join(words, " ")))
		}
	}
}

// Words that are near these stand for an instant by the clock of the primary.
const (
	someMS      = 4_000_000_000_000
	someSeconds = someMS / 1000
)

// instants puts the clock's time in the place of words that stand for it.
func (s *session) instants(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		clock, _ := s.w.NodeTime(s.primary)
		switch {
		case err != nil:
		case n > someMS-100_000 && n < someMS+100_000:
			words[i] = strconv.FormatInt(n-someMS+clock.Milliseconds(), 10)
		case n > someSeconds-1000 && n < someSeconds+1000:
			words[i] = strconv.FormatInt(n-someSeconds+int64(clock/time.Second), 10)
		}
	}
	return words
}

// do makes a step.
func (s *session) do(p *step) {
	switch {
	case p.words != nil:
		s.send(p.conn, p.words...)
	case p.command.Op != 0:
		if _, waits := s.conns[p.conn].Take(); waits {
			return
		}
		s.conns[p.conn].Ask(p.command)
		s.collect(p.String(), p.conn, nil)
	case p.looks:
		s.look()
	case p.restart:
		s.pass(looksWithin)
		s.must(s.w.Kill(s.primary))
		s.must(s.w.Restart(s.primary, p.keep))
		if s.now += restartTakes; s.replicated {
			s.now += resyncTakes
		}
		s.until(s.now)
		s.see(p.String(), "")
		s.connect()
	case p.clock != nil:
		s.askForAll() // a key would live again that has run out, where the server has not come to remove it
		s.must(s.w.SetClock(s.primary, world.WallClock, *p.clock))
		s.see(p.String(), "")
		s.pass(looksWithin)
	case p.promote != "":
		if p.promote != s.primary {
			s.askForAll()
			s.must(s.w.Promote(p.promote))
			s.primary = p.promote
			s.now += resyncTakes
			s.until(s.now)
			s.see(p.String(), "")
			s.connect()
		}
	}
}

// lookTakes, restartTakes and resyncTakes are longer than a look takes, and a restart, and than replicas need to be in step with another
// primary.
const (
	lookTakes    = 10 * time.Millisecond
	restartTakes = 50 * time.Millisecond
	resyncTakes  = 3 * time.Second
)

func (s *session) must(err error) {
	if err != nil {
		s.see("it fails", err.Error())
	}
}

// askForAll lets the primary remove all that has run out, and tell its replicas.
func (s *session) askForAll() {
	if s.as.Valkey { // it looks for fields that have run out ten times a second, and nobody's question makes it do so
		s.pass(150 * time.Millisecond)
	}
	s.settle()
	if s.as.Valkey {
		s.send(looking, "HGET", fieldKey, aField)
	}
	s.send(looking, append([]string{"EXISTS"}, allKeys()...)...)
	s.pass(time.Millisecond)
}

// look compares all keys of all nodes.
func (s *session) look() {
	if s.replicated { // replicas keep what has run out till the primary removes it, which it does when somebody asks
		s.askForAll()
	}
	for _, n := range s.nodes {
		if !s.w.Alive(n.Name) {
			continue
		}
		d := s.w.Direct(n.Name, s.as, nil)
		ask := func(words ...string) resp.Value {
			d.Send(words...)
			s.now += grain
			s.until(s.now)
			text, _ := d.Take()
			v, _, err := resp.Parse([]byte(text))
			if err != nil || v.Kind == resp.Error {
				s.see("a look at "+n.Name, fmt.Sprintf("%q: %v: %q", words, err, text))
			}
			return v
		}
		var keys []string
		for _, v := range ask("KEYS", "*").List {
			keys = append(keys, v.Text)
		}
		slices.Sort(keys)
		var has []string
		if s.as.Valkey { // it keeps a hash for a while of which all fields have run out
			keys = slices.DeleteFunc(keys, func(key string) bool { return key == fieldKey })
			if n.Name == s.primary { // a replica shows the field until its primary has removed it
				has = append(has, fmt.Sprintf("%s: %q", fieldKey, ask("HGET", fieldKey, aField).Text))
			}
		}
		for _, key := range keys {
			read := map[string][]string{"string": {"GET", key}, "list": {"LRANGE", key, "0", "-1"}, "hash": {"HGETALL", key},
				"set": {"SMEMBERS", key}, "zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"}}[ask("TYPE", key).Text]
			if read == nil {
				continue // it has run out since
			}
			v := ask(read...)
			if read[0] == "SMEMBERS" {
				slices.SortFunc(v.List, func(a, b resp.Value) int { return strings.Compare(a.Text, b.Text) })
			}
			has = append(has, fmt.Sprintf("%s: %q until %s", key, resp.Append(nil, v), ask("PEXPIRETIME", key).Text))
		}
		s.see("the keys of "+n.Name, strings.Join(has, "; "))
	}
}

var (
	number    = regexp.MustCompile(`\$2\r\nid\r\n:\d+`)
	errorLine = regexp.MustCompile(`user_script:(\d+): [^\r]*|(new function\): )[^\r]*|( script: [0-9a-f]{40})[^\r]*`)
	unordered = regexp.MustCompile(`(?i)\b(smembers|keys|scan|channels)\b`)
)

// alike leaves out what is not compared: the order of what has none, the number of a connection, and the interpreter's own words.
func (s *session) alike(asked bool, words []string, text string) string {
	b := []byte(text)
	var all strings.Builder
	for len(b) > 0 {
		v, n, err := resp.Parse(b)
		if err != nil {
			return fmt.Sprintf("%v: %q", err, text)
		}
		raw := b[:n]
		b = b[n:]
		if asked && s.hasNoOrder(words) || v.Kind == resp.Set {
			raw = resp.Append(nil, sorted(v))
		}
		all.Write(raw)
	}
	return errorLine.ReplaceAllString(number.ReplaceAllString(all.String(), ""), "user_script:$1$2$3")
}

// hasNoOrder reports that the answer has parts that a server may give in any order.
func (s *session) hasNoOrder(words []string) bool {
	if len(words) == 0 {
		return false
	}
	if strings.EqualFold(words[0], "exec") {
		return slices.ContainsFunc(append(slices.Clone(s.queued[0]), s.queued[1]...), unordered.MatchString)
	}
	return slices.ContainsFunc(words, unordered.MatchString)
}

// sorted sorts a value in all its depth.
func sorted(v resp.Value) resp.Value {
	list := make([]resp.Value, len(v.List))
	for i := range v.List {
		list[i] = sorted(v.List[i])
	}
	slices.SortFunc(list, func(a, b resp.Value) int {
		return strings.Compare(string(resp.Append(nil, a)), string(resp.Append(nil, b)))
	})
	v.List = list
	return v
}
