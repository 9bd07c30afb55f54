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
	// Story says what is looked at. Its Doubted is the look's own.
	Story keystory.Options
	// Record takes the lines of MONITOR that are about the keys; nil: nobody does.
	Record io.Writer
	// Note is told what the user should know, as it comes.
	Note func(text string)
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
	idle           = 20 * time.Millisecond
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
	// denied: it was said that the server refuses questions.
	denied bool
	// recording: the script whose lines come is recorded.
	recording bool
}

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
	k := &look{Live: l, name: "sim-observe-" + strings.ToLower(rand.Text()[:8]), lines: make(chan shown, mostWaiting),
		doubted: make(map[*keystory.Lock]bool), missed: make(map[*keystory.Lock]bool), checked: make(map[*keystory.Lock]bool)}
	o := l.Story
	o.Doubted = k.doubt
	o.Full = func() {
		k.Note(fmt.Sprintf("there are more than %s locks: commands on others are left out from here on", words.Grouped(keystory.MostLocks)))
	}
	stream, err := k.open(ctx, &o)
	if err != nil {
		return nil, err
	}
	k.story = keystory.New(o)
	if l.For > 0 { // from when it sees something
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, l.For)
		defer cancel()
	}
	defer func() {
		_ = k.questions.Close()
	}()
	for ctx.Err() == nil {
		err := k.follow(ctx, stream)
		if err == nil || ctx.Err() != nil {
			break
		}
		if busy := (*TooBusyError)(nil); errors.As(err, &busy) {
			l.Note(busy.Error() + ": the look ends here")
			break
		}
		l.Note(fmt.Sprintf("the connection to %s ended (%v): what is done until it is open again is not seen", l.Address, err))
		k.forget("the connection to the server ended")
		if stream = k.reopen(ctx); stream == nil {
			k.story.End()
			return k.story, &GoneError{l.Address}
		}
	}
	k.story.End()
	return k.story, nil
}

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
		if k.MostOps > 0 && ops > k.MostOps {
			return nil, errors.Join(&TooBusyError{ops, k.MostOps}, q.Close())
		}
	} else if run := infoField(info, "run_id"); run != k.run {
		k.Note("another server process answers: what the one before kept in memory alone is lost")
	}
	replica := infoField(info, "role") == "slave"
	if replica {
		k.Note("the server is a replica: " + ofReplica)
	}
	if o != nil {
		o.Replica = replica
	} else {
		k.story.SetReplica(replica)
	}
	k.run = infoField(info, "run_id")
	k.evicted, _ = strconv.ParseInt(infoField(info, "evicted_keys"), 10, 64)
	list, err := q.ask([]string{"CLIENT", "LIST"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s refuses CLIENT LIST: %w", k.Address, err), q.Close())
	}
	k.own, k.questions = addressOf(list[0].Text, k.name), q
	stream, err = k.dial(ctx, k.name+"-monitor")
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	lines, err := stream.monitor()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s refuses MONITOR: %w", k.Address, err), q.Close(), stream.Close())
	}
	go k.read(lines)
	return stream, nil
}

// reopen opens the connections again; nil: the look ended before.
func (k *look) reopen(ctx context.Context) *connection {
	_ = k.questions.Close()
	for ctx.Err() == nil {
		if stream, err := k.open(ctx, nil); err == nil {
			k.Note("the connection is open again")
			return stream
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectEvery):
		}
	}
	return nil
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
func (k *look) read(lines *bufio.Reader) {
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			k.lines <- shown{err: err}
			return
		}
		l, err := parseLine(text)
		if err != nil {
			continue
		}
		select {
		case k.lines <- shown{line: l, text: text}:
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
				k.forget("commands came faster than sim reads them")
			}
		case <-second.C:
			if err := k.everySecond(); err != nil {
				return err
			}
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
	case "MULTI", "EXEC", "DISCARD", "SCRIPT", "FLUSHALL", "FLUSHDB":
		names = true
	}
	if l.line.Source != monitor.Script {
		k.recording = names
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
				k.doubt(k.asking.lock)
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
	delete(k.doubted, lock)
	if _, checked := k.checked[lock]; !lock.Unclear() && !checked {
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
	switch kind {
	case "string":
		read = [][]string{{"GETRANGE", name, "0", strconv.Itoa(longestValue)}, {"PTTL", name}}
	case "hash":
		if answers, err = c.ask([]string{"HLEN", name}); err != nil {
			return err
		}
		if number(&answers[0]) <= mostFields {
			read = [][]string{{"HGETALL", name}, {"PTTL", name}}
		}
	case "none":
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
	case kind == "hash" && len(v.List) > 0:
		q.key.Holds, q.key.Fields = command.Hash, make(map[string]string)
		for i := 0; i+1 < len(v.List); i += 2 {
			q.key.Fields[v.List[i].Text] = v.List[i+1].Text
		}
	}
	if q.ttl == -2 { // it ran out in between
		q.key = command.Key{}
	}
}

// everySecond looks how busy the server is, and whether it evicts keys.
func (k *look) everySecond() error {
	if k.asking != nil {
		return nil // the connection is in use
	}
	info, err := k.questions.info()
	if err != nil {
		return err
	}
	ops, _ := strconv.Atoi(infoField(info, "instantaneous_ops_per_sec"))
	if k.busy++; k.MostOps == 0 || ops <= k.MostOps {
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
