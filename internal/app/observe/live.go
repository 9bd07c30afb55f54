package observe

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Live is a look at a server that is in use.
type Live struct {
	Server
	// For bounds the look; 0: it lasts till ctx ends.
	For time.Duration
	// MostOps is how many commands a second the server may carry out for MONITOR to be used; 0: any number.
	MostOps int
	// Patterns are the keys of the locks, as the user names them. WithoutMonitor: what is done is known by the events that the server sends of
	// keys, and by asking it what they hold, and not by MONITOR.
	Patterns       []string
	WithoutMonitor bool
	// Window and Every: MONITOR is used for so long, each so often; zero: all the time.
	Window, Every time.Duration
	// Story says what is looked at. Its Doubted is the look's own.
	Story keystory.Options
	// Record takes the lines of MONITOR that are about the keys; nil: nobody does.
	Record io.Writer
	// Publish is given the story each second, and at the end; nil: nobody is.
	Publish func(s *keystory.Story, now keystory.Time)
	// Note is told what the user should know, as it comes.
	Note func(text string)

	// closedFor is what a test sets on a machine that is busy with others; 0: closedFor.
	closedFor time.Duration
}

// Bounds of a look.
const (
	// mostWaiting lines may wait to be read: what comes then is left out, or the server would have to keep it.
	mostWaiting = 1 << 16
	// askEvery is how long the server has peace from one question to the next.
	askEvery = 5 * time.Millisecond
	// longestValue is how much of a value is read.
	longestValue = 1024
	// mostFields is how many fields a hash may have to be read.
	mostFields = 64
	// checksASecond is how many locks are asked for in a second though it is known who holds them.
	checksASecond = 10
	// busyFor is for how many seconds a server may be busier than MostOps.
	busyFor = 3
	// reconnectEvery is how long is waited for a server that has closed the connection.
	reconnectEvery = 250 * time.Millisecond
	// closedFor is for how long sim may be without a server that becomes a primary and yet have missed nothing: the server closes all
	// connections then, those of the locks' clients too.
	closedFor = time.Second
	idle      = 20 * time.Millisecond
)

// TooBusyError says that a server carries out too many commands for MONITOR.
type TooBusyError struct{ Ops, Most int }

func (e *TooBusyError) Error() string {
	return fmt.Sprintf("the server carries out %d commands a second, and MONITOR is used up to %d: "+
		"it has the server send each of them once more",
		e.Ops, e.Most)
}

// GoneError says that a server was gone at the end of a look: what was done on it after that was not seen.
type GoneError struct{ Address string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("%s could not be reached at the end of the look: the story tells what was seen before", e.Address)
}

// look is a Live under way.
type look struct {
	*Live
	story *keystory.Story
	name  string
	// questions is the connection for questions, own its address as MONITOR shows it.
	questions *connection
	own       string
	lines     chan shown
	lost      atomic.Int64
	// calls are carried out by the look's own goroutine, until over is closed.
	calls chan func()
	over  chan struct{}
	// then is told of what the server says of a lock; since is when each lock that is held was seen to be taken.
	then  map[*keystory.Lock]func(command.Key)
	since map[*keystory.Lock]time.Time
	// whole is since when all commands are seen, before the time for which they were till the connection ended. replica: the server is one.
	whole   time.Time
	before  span
	replica bool
	// syncs counts how often the server gave a replica all that it has, resynced is when that was noticed.
	syncs    string
	resynced time.Time
	// doubted are the locks to ask for, missed those of which commands may not have been seen.
	doubted map[*keystory.Lock]bool
	order   []*keystory.Lock
	missed  map[*keystory.Lock]bool
	asking  *question
	asked   time.Time
	// evicted is how many keys the server had evicted. checked are the locks that are asked for though it is known who holds them; true: since
	// the server has evicted keys. turn is whose turn it is.
	evicted int64
	checked map[*keystory.Lock]bool
	turn    int
	run     string
	busy    int
	last    time.Time
	stream  *connection
	windows int
	// connected: a look without MONITOR is. sendsEvents: the server sends events of keys; gaps: not of all that is done, or not known.
	connected, sendsEvents, gaps bool
	// denied: it was said that the server refuses questions.
	denied bool
	// recording: the script whose lines come is recorded. caller is its own line.
	recording bool
	caller    string
}

// span is a time by the clock of this machine.
type span struct{ from, to time.Time }

// shown is a line of MONITOR; err: the stream has ended.
type shown struct {
	line monitor.Line
	text string
	err  error
}

// question is one to the server, about a key.
type question struct {
	lock    *keystory.Lock
	done    chan struct{}
	key     command.Key
	ttl     int64
	err     error
	begun   bool
	changes int
}

// Look looks until the time is over or ctx ends. With a GoneError it returns the story that was seen.
func (l *Live) Look(ctx context.Context) (*keystory.Story, error) {
	k := newLook(l)
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	return k.watch(ctx)
}

func newLook(l *Live) *look {
	return &look{Live: l, name: "sim-observe-" + strings.ToLower(rand.Text()[:8]), calls: make(chan func()), over: make(chan struct{}),
		doubted: make(map[*keystory.Lock]bool), missed: make(map[*keystory.Lock]bool), checked: make(map[*keystory.Lock]bool),
		then: make(map[*keystory.Lock]func(command.Key)), since: make(map[*keystory.Lock]time.Time)}
}

// begin opens the connections.
func (k *look) begin(ctx context.Context) (err error) {
	o := k.Story
	o.Doubted = k.doubt
	o.Full = func() {
		k.Note(fmt.Sprintf("there are more than %s locks: commands on others are left out from here on", words.Grouped(keystory.MostLocks)))
	}
	o.Dropped = k.drop
	o.Began = func(lock *keystory.Lock, h *keystory.Hold) {
		k.since[lock] = time.Now()
		if k.Story.Began != nil {
			k.Story.Began(lock, h)
		}
	}
	if k.WithoutMonitor {
		k.besides = SendsEvents
		k.story = keystory.New(o)
		return k.openEvents(ctx, true)
	}
	k.besides = SendsMonitor
	if k.stream, err = k.open(ctx, &o); err != nil {
		return err
	}
	k.story = keystory.New(o)
	return nil
}

// drop forgets a lock that is followed no longer.
func (k *look) drop(lock *keystory.Lock) {
	delete(k.doubted, lock)
	delete(k.missed, lock)
	delete(k.checked, lock)
	delete(k.then, lock)
	delete(k.since, lock)
}

// watch looks until the time is over or ctx ends.
func (k *look) watch(ctx context.Context) (*keystory.Story, error) {
	defer close(k.over)
	if k.For > 0 { // from when it sees something
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, k.For)
		defer cancel()
	}
	defer func() {
		_ = k.questions.Close()
		k.publish()
	}()
	switch {
	case k.WithoutMonitor:
		return k.watchEvents(ctx)
	case k.Window > 0:
		defer k.sumUpWindows(time.Now())
	}
	for ctx.Err() == nil {
		err := k.followAll(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		if busy := (*TooBusyError)(nil); errors.As(err, &busy) {
			k.Note(busy.Error() + ": the look ends here")
			break
		}
		k.Note(fmt.Sprintf("the connection to %s ended (%v): what is done until it is open again is not seen", k.Address, err))
		k.before = span{k.whole, time.Now()}
		k.forget("the connection to the server ended")
		if k.stream = k.reopen(ctx); k.stream == nil {
			k.story.End()
			return k.story, &GoneError{k.Address}
		}
	}
	k.story.End()
	return k.story, nil
}

// followAll follows the stream till it or the look ends: all the time, or in windows.
func (k *look) followAll(ctx context.Context) error {
	for k.Window > 0 && ctx.Err() == nil {
		window, cancel := context.WithTimeout(ctx, k.Window)
		err := k.follow(window, k.stream)
		cancel()
		if k.windows++; err != nil || ctx.Err() != nil {
			return err
		}
		k.forget("nobody looks till the next window")
		k.publish()
		k.wait(ctx, k.Every-k.Window)
		if ctx.Err() != nil {
			return nil
		}
		if k.stream, err = k.openStream(ctx); err != nil {
			return err
		}
	}
	return k.follow(ctx, k.stream)
}

// sumUpWindows says how much was not seen.
func (k *look) sumUpWindows(begun time.Time) {
	all := time.Since(begun).Round(time.Second)
	seen := min(time.Duration(k.windows)*k.Window, all)
	k.story.Notes = append(k.story.Notes, fmt.Sprintf("seen: %s of %s, %s of %s in all; what was done between them is left out, and "+
		"nobody is accused by what lies across", words.Count(k.windows, "window"), k.Window, seen, all))
}

// call has the look's own goroutine do something; false: the look is over.
func (k *look) call(do func()) bool {
	done := make(chan struct{})
	select {
	case k.calls <- func() { defer close(done); do() }:
		<-done
		return true
	case <-k.over:
		return false
	}
}

// ask has the server say what a key holds, whatever is known of it; false: it did not within a time.
func (k *look) ask(ctx context.Context, db int, key string) (is command.Key, at keystory.Time, ok bool) {
	said := make(chan command.Key, 1)
	asked := false
	if !k.call(func() {
		lock := k.story.Follow(db, key)
		if asked = lock != nil && k.asks(); asked {
			k.then[lock] = func(is command.Key) { at = k.story.Last; said <- is }
			k.check(lock)
		}
	}) || !asked {
		return is, at, false
	}
	select {
	case is = <-said:
		return is, at, true
	case <-time.After(answersWithin):
	case <-k.over:
	case <-ctx.Done():
	}
	return is, at, false
}

// asks reports that the look can ask the server.
func (k *look) asks() bool { return (k.own != "" || k.WithoutMonitor && k.connected) && !k.denied }

// open opens both connections. o is nil when they are opened again.
func (k *look) open(ctx context.Context, o *keystory.Options) (stream *connection, err error) {
	q, err := k.dial(ctx, k.name)
	if err != nil {
		return nil, err
	}
	info, err := q.info()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s refuses INFO: %w", k.Address, err), q.Close())
	}
	ops, _ := strconv.Atoi(infoField(info, "instantaneous_ops_per_sec"))
	if o != nil {
		o.Server = command.ServerIn(info)
		k.Note(fmt.Sprintf("%s carries out %d commands a second. MONITOR has it send each of them to sim, too: "+
			"on a server at full load that costs up to half of its throughput", k.Address, ops))
		if k.MostOps > 0 && ops > k.MostOps && k.Window == 0 {
			return nil, errors.Join(&TooBusyError{ops, k.MostOps}, q.Close())
		}
	} else if run := infoField(info, "run_id"); run != k.run {
		k.Note("another server process answers: what the one before kept in memory alone is lost")
	}
	replica := infoField(info, "role") == "slave"
	if replica {
		k.Note("the server is a replica: " + ofReplica)
	}
	if k.replica = replica; o != nil {
		o.Replica = replica
	} else {
		k.story.SetReplica(replica)
	}
	k.run = infoField(info, "run_id")
	k.seeSyncs(info)
	k.evicted, _ = strconv.ParseInt(infoField(info, "evicted_keys"), 10, 64)
	list, err := q.ask([]string{"CLIENT", "LIST"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s refuses CLIENT LIST: %w", k.Address, err), q.Close())
	}
	own := addressOf(list[0].Text, k.name)
	if stream, err = k.openStream(ctx); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	k.own, k.questions = own, q
	return stream, nil
}

// openStream begins MONITOR.
func (k *look) openStream(ctx context.Context) (*connection, error) {
	stream, err := k.dial(ctx, k.name+"-monitor")
	if err != nil {
		return nil, err
	}
	lines, err := stream.monitor()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s refuses MONITOR: %w", k.Address, err), stream.Close())
	}
	k.whole, k.lines = time.Now(), make(chan shown, mostWaiting)
	go k.read(lines, k.lines)
	return stream, nil
}

// reopen opens the connections again; nil: the look ended before.
func (k *look) reopen(ctx context.Context) *connection {
	_ = k.questions.Close()
	k.own = ""
	for ctx.Err() == nil {
		if stream, err := k.open(ctx, nil); err == nil {
			k.Note("the connection is open again")
			return stream
		}
		k.wait(ctx, reconnectEvery)
	}
	return nil
}

// wait waits, and does meanwhile what the look is called for.
func (k *look) wait(ctx context.Context, d time.Duration) {
	for over := time.After(d); ; {
		select {
		case call := <-k.calls:
			call()
		case <-ctx.Done():
			return
		case <-over:
			return
		}
	}
}

func (c *connection) info() (string, error) {
	answers, err := c.ask([]string{"INFO"})
	if err != nil {
		return "", err
	}
	return answers[0].Text, nil
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return v
		}
	}
	return ""
}

// read reads lines of the stream until it ends. It never waits for the look: the server would keep what is not read.
func (k *look) read(lines *bufio.Reader, to chan<- shown) {
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			select {
			case to <- shown{err: err}:
			case <-k.over:
			}
			return
		}
		l, err := parseLine(text)
		if err != nil {
			continue
		}
		select {
		case to <- shown{line: l, text: text}:
		default:
			k.lost.Add(1)
		}
	}
}

// follow follows the stream until it ends, or the look does.
func (k *look) follow(ctx context.Context, stream *connection) error {
	tick := time.NewTicker(idle)
	second := time.NewTicker(time.Second)
	defer tick.Stop()
	defer second.Stop()
	ended := context.AfterFunc(ctx, func() { _ = stream.Close() })
	defer func() {
		ended()
		_ = stream.Close()
	}()
	for {
		select {
		case l := <-k.lines:
			if l.err != nil {
				return l.err
			}
			k.last = time.Now()
			k.see(&l)
		case <-tick.C:
			if now := time.Now(); now.Sub(k.last) > idle {
				k.story.Settle()
				k.story.Tick(k.now())
			}
			if n := k.lost.Swap(0); n > 0 {
				k.Note(fmt.Sprintf("left out: %d commands, which came faster than sim reads them", n))
				k.whole = time.Now()
				k.forget("commands came faster than sim reads them")
			}
		case <-second.C:
			if err := k.everySecond(); err != nil {
				return err
			}
		case call := <-k.calls:
			call()
		case <-ctx.Done():
			k.drain()
			return nil
		}
		k.askNext()
	}
}

// drain takes in what has come until now.
func (k *look) drain() {
	for {
		select {
		case l := <-k.lines:
			if l.err != nil {
				return
			}
			k.see(&l)
		default:
			return
		}
	}
}

// now is the server's clock, as far as its latest line tells.
func (k *look) now() keystory.Time {
	if k.WithoutMonitor {
		return k.wall()
	}
	t := k.story.Last
	if t.At > 0 {
		t.At += time.Since(k.last)
	}
	return t
}

// see takes in a line of the stream.
func (k *look) see(l *shown) {
	if l.line.Source == k.own && k.own != "" {
		k.seeOwn(&l.line)
		return
	}
	k.record(l)
	if l.line.DB == k.DB || command.NamesNoKey(l.line.Args) {
		k.story.SeeLine(l.line)
	} else {
		k.story.SeeElsewhere(l.line)
	}
}

// seeOwn takes in a question of the look's own: its answer has its place there.
func (k *look) seeOwn(l *monitor.Line) {
	q := k.asking
	if q == nil || len(l.Args) < 2 || l.Args[1] != q.lock.Key {
		return
	}
	switch strings.ToUpper(l.Args[0]) {
	case "TYPE":
		k.story.Settle()
		q.begun, q.changes = true, q.lock.Changes
	case "PTTL":
		k.story.Settle()
		<-q.done
		k.asking = nil
		if q.err != nil && strings.HasPrefix(q.err.Error(), "MOVED ") {
			return
		}
		if q.err != nil || !q.begun || q.changes != q.lock.Changes { // what it says may be of before
			k.doubt(q.lock)
			return
		}
		if q.ttl >= 0 {
			q.key.Expires = command.At(l.At.Milliseconds() + q.ttl)
		}
		q.lock.Found(q.key, keystory.Time{At: l.At}, k.checked[q.lock], k.missed[q.lock])
		delete(k.checked, q.lock)
		delete(k.missed, q.lock)
		if then := k.then[q.lock]; then != nil {
			delete(k.then, q.lock)
			then(q.key)
		}
	}
}

// record writes the lines that are about the keys.
func (k *look) record(l *shown) {
	if k.Record == nil {
		return
	}
	about := func(word string) bool {
		return k.Story.Keys.Fit(word) || k.Story.Resource != nil && k.Story.Resource.Fit(word)
	}
	names := false
	for _, word := range l.line.Args[1:] {
		names = names || about(word)
	}
	switch strings.ToUpper(l.line.Args[0]) {
	case "MULTI", "EXEC", "DISCARD", "UNWATCH", "RESET", "SCRIPT", "FLUSHALL", "FLUSHDB", "SWAPDB":
		names = true
	}
	switch {
	case l.line.Source != monitor.Script:
		k.recording, k.caller = names, l.text
	case names && !k.recording: // the script was not called with the key
		k.recording = true
		_, _ = io.WriteString(k.Record, strings.TrimPrefix(k.caller, "+"))
	}
	if names || k.recording {
		_, _ = io.WriteString(k.Record, strings.TrimPrefix(l.text, "+"))
	}
}

// doubt takes note of a lock of which nobody knows who holds it.
func (k *look) doubt(lock *keystory.Lock) {
	if !k.doubted[lock] {
		k.doubted[lock] = true
		k.order = append(k.order, lock)
	}
}

// forget says that commands may not have been seen.
func (k *look) forget(why string) {
	if k.asking != nil {
		<-k.asking.done
		k.asking = nil
	}
	if k.Window > 0 {
		k.story.Pause(why)
		return
	}
	for _, lock := range k.story.Locks() {
		k.missed[lock] = true
	}
	k.story.Forget(why)
}

// askNext asks for the next lock, if no question is open.
func (k *look) askNext() {
	if k.asking != nil {
		select {
		case <-k.asking.done:
			if k.asking.err != nil { // it will not show
				if strings.HasPrefix(k.asking.err.Error(), "NOPERM") && !k.denied {
					k.denied = true
					k.Note(fmt.Sprintf("the server refuses to say what keys hold (%v): only commands tell who has a lock", k.asking.err))
				}
				if !strings.HasPrefix(k.asking.err.Error(), "MOVED ") { // another node says it
					k.doubt(k.asking.lock)
				}
				k.asking = nil
			}
		default:
		}
		return
	}
	if len(k.order) == 0 || time.Since(k.asked) < askEvery || k.own == "" {
		return
	}
	lock := k.order[0]
	k.order = k.order[1:]
	followed := k.doubted[lock]
	delete(k.doubted, lock)
	if _, checked := k.checked[lock]; !followed || !lock.Unclear() && !checked {
		return
	}
	q := &question{lock: lock, done: make(chan struct{})}
	k.asking, k.asked = q, time.Now()
	c := k.questions
	go func() {
		defer close(q.done)
		q.err = q.put(c)
	}()
}

// put asks the server what a key holds. PTTL comes last, so the line of it says that all was answered.
func (q *question) put(c *connection) error {
	name := q.lock.Key
	answers, err := c.ask([]string{"TYPE", name})
	if err != nil {
		return err
	}
	kind := answers[0].Text
	q.key.Holds = command.Unclear
	read := [][]string{{"PTTL", name}}
	switch is, known := kinds[kind]; {
	case kind == "string":
		read = [][]string{{"GETRANGE", name, "0", strconv.Itoa(longestValue)}, {"PTTL", name}}
	case known:
		if answers, err = c.ask([]string{is.count, name}); err != nil {
			return err
		}
		if number(&answers[0]) <= mostFields {
			read = [][]string{append([]string{is.read, name}, is.words...), {"PTTL", name}}
		}
	case kind == "none":
		q.key.Holds = command.Absent
	}
	answers, err = c.ask(read...)
	if err != nil {
		return err
	}
	q.ttl = number(&answers[len(answers)-1])
	if len(answers) == 2 {
		q.take(kind, &answers[0])
	}
	return nil
}

// kinds says how what a key holds is counted, and read if it is not too much.
var kinds = map[string]struct {
	count, read string
	words       []string
}{
	"hash": {"HLEN", "HGETALL", nil}, "list": {"LLEN", "LRANGE", []string{"0", strconv.Itoa(mostFields)}},
	"zset": {"ZCARD", "ZRANGE", []string{"0", strconv.Itoa(mostFields), "WITHSCORES"}},
}

func number(v *resp.Value) int64 {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// take takes what a key holds.
func (q *question) take(kind string, v *resp.Value) {
	switch {
	case kind == "string" && len(v.Text) <= longestValue:
		q.key.Holds, q.key.Value = command.Text, v.Text
	case len(v.List) == 0 || len(v.List) > 2*mostFields:
	case kind == "list":
		q.key.Holds = command.List
		for _, item := range v.List {
			q.key.Items = append(q.key.Items, item.Text)
		}
	default:
		q.key.Holds, q.key.Fields = command.Hash, make(map[string]string)
		if kind == "zset" {
			q.key.Holds = command.Sorted
		}
		for i := 0; i+1 < len(v.List); i += 2 {
			q.key.Fields[v.List[i].Text] = v.List[i+1].Text
		}
	}
	if q.ttl == -2 { // it ran out in between
		q.key = command.Key{}
	}
}

// publish gives the story to who wants it.
func (k *look) publish() {
	if k.Publish != nil {
		k.Publish(k.story, k.now())
	}
}

// everySecond looks how busy the server is, and whether it evicts keys.
func (k *look) everySecond() error {
	k.publish()
	if k.asking != nil {
		return nil // the connection is in use
	}
	info, err := k.questions.info()
	if err != nil {
		return err
	}
	k.seeRole(infoField(info, "role") == "slave")
	k.seeSyncs(info)
	ops, _ := strconv.Atoi(infoField(info, "instantaneous_ops_per_sec"))
	if k.busy++; k.MostOps == 0 || k.WithoutMonitor || k.Window > 0 || ops <= k.MostOps {
		k.busy = 0
	}
	if k.busy == busyFor {
		return &TooBusyError{ops, k.MostOps}
	}
	locks := k.story.Locks()
	for range min(len(locks), checksASecond) {
		if k.turn++; locks[k.turn%len(locks)].Held() {
			lock := locks[k.turn%len(locks)]
			if !k.checked[lock] {
				k.checked[lock] = false
			}
			k.doubt(lock)
		}
	}
	if evicted, _ := strconv.ParseInt(infoField(info, "evicted_keys"), 10, 64); evicted != k.evicted {
		k.evicted = evicted
		for _, lock := range locks {
			if lock.Held() {
				k.checked[lock] = true
				k.doubt(lock)
			}
		}
	}
	return nil
}

// seeSyncs takes note that the server gave a replica all that it has, of which no command shows anything.
func (k *look) seeSyncs(info string) {
	if n := infoField(info, "sync_full"); n != k.syncs {
		k.syncs, k.resynced = n, time.Now()
	}
}

// seeRole takes note that the server has become a replica, or is none any more.
func (k *look) seeRole(replica bool) {
	if replica == k.replica {
		return
	}
	if k.replica = replica; replica {
		k.Note(k.Address + " is a replica now")
		k.story.Pause("the server takes what another has from here on")
	} else {
		k.Note(k.Address + " is a primary now")
		k.story.Settle()
	}
	k.story.SetReplica(replica)
}
