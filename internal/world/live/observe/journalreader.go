package observe

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// journalReader follows the keys of a node by its journal: what stands there was done, and nothing else. MONITOR says in
// which order commands came and whose they were. The effect of a command is the next block of the journal, or none.
// What no command did, the node did by itself.
type journalReader struct {
	w    *nodeWatch
	file *journal.Follower
	// monitor is the stream of the lines.
	monitor *stream
	// late: an answer may leave before its effect stands in the journal.
	late bool

	mu sync.Mutex // guards what follows
	// begun: the keys are known. goesOn: they are known from an earlier stream.
	begun, goesOn bool
	keys          []*journalKey
	byName        map[string]*journalKey
	// round counts how often lines were resolved.
	round int
	// saidElsewhere: the history says that the lock is kept in another database.
	saidElsewhere bool
	// lines are those of which it is not known yet what they did, read and seen how many entries and lines have come.
	lines      []numbered
	read, seen int
	// blocks is how many blocks of the journal have been read.
	blocks int
	// ended is closed at the end of the stream; over: all has been taken in.
	ended chan struct{}
	over  bool
}

// numbered is a line with its place among those that have come.
type numbered struct {
	monitored
	number int
}

// newJournalReader follows the journal of a node. before is who did so till the server closed the stream; nil: nobody.
func newJournalReader(w *nodeWatch, before *journalReader) *journalReader {
	j := &journalReader{w: w, file: w.n.Journal(), byName: make(map[string]*journalKey), ended: make(chan struct{})}
	// A replica that copies all data keeps no journal till it has begun another.
	j.late = w.n.Persistence == world.AOFEverysec || w.o.Replicated
	if before != nil {
		before.mu.Lock()
		defer before.mu.Unlock()
		j.keys, j.byName, j.read, j.blocks, j.goesOn = before.keys, before.byName, before.read, before.blocks, true
	}
	return j
}

func (j *journalReader) names() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []string
	for _, k := range j.keys {
		list = append(list, k.Replay.Name)
	}
	return list
}

func (j *journalReader) follow(key string, _ bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(key)
}

// mostKeys bounds how many keys are followed on a node.
const mostKeys = 10_000

// keysNamed are the keys that a command may concern.
func (j *journalReader) keysNamed(words []string) (list []*journalKey) {
	if command.NamesNoKey(words) {
		return j.keys
	}
	for _, word := range words[1:] {
		if k := j.byName[word]; k != nil && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return list
}

// add begins to follow a key, unless it is followed. It has never been written: who writes a key names it.
func (j *journalReader) add(key string) {
	if j.byName[key] != nil || j.w.full(len(j.keys), mostKeys) {
		return
	}
	k := &journalKey{Key: keylog.Key{Log: j.w.logOf(key)}, late: j.late}
	k.Replay.Key = command.Key{}
	j.byName[key] = k
	j.keys = append(j.keys, k)
}

// start takes what the journal has so far for what the keys are.
func (j *journalReader) start(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.readJournal(); err != nil {
		return err
	}
	if j.begun = true; j.goesOn { // no line showed what was done in between
		j.finish(j.read, j.seen)
	} else {
		j.begin()
	}
	j.w.o.Background.Go(func() { every(ctx, lookEvery, j.ended, func() { j.lookForOwn(ctx) }) })
	return nil
}

// begin takes what was done so far for what the keys are.
func (j *journalReader) begin() {
	now := j.now()
	for _, k := range j.keys {
		for _, e := range k.Effects {
			k.Apply(e.Entry)
		}
		k.Effects = nil
		k.RecordFound(now)
	}
}

// now is the node's clock, as far as sim knows it.
func (j *journalReader) now() command.Span {
	now := machine.Wall()
	if c := j.w.n.Clock; c != nil {
		now += c.Ahead()
	}
	return span(now, now)
}

// see takes in a line of the stream. Its effect stands in the journal by now.
func (j *journalReader) see(c monitored) {
	j.mu.Lock()
	defer j.mu.Unlock()
	concerns := false
	for _, k := range j.keysNamed(c.Args) {
		k.NoteFields(&c.Line)
		concerns = concerns || k.Replay.Concerns(c.Executed())
	}
	if !j.begun || !concerns || !j.readOrFail() {
		return
	}
	j.seen++
	j.lines = append(j.lines, numbered{c, j.seen})
	j.resolve(0, 0)
}

func (j *journalReader) marked() {}

// readOrFail reads what has been added to the journal. False: the stream has ended, or the journal cannot be read, and the run ends.
func (j *journalReader) readOrFail() bool {
	if j.over {
		return false
	}
	err := j.readJournal()
	if err != nil {
		j.w.o.fail(err)
	}
	return err == nil
}

func (j *journalReader) readJournal() error {
	for {
		entries, err := j.file.Read()
		if err != nil {
			return fmt.Errorf("failed to read the journal of node %s: %w", j.w.n.Name, err)
		}
		if entries == nil {
			return nil
		}
		for _, e := range entries {
			j.handOut(e)
		}
	}
}

// handOut hands an entry to the keys that it concerns.
func (j *journalReader) handOut(e journal.Entry) {
	j.read++
	if e.First || len(e.Words) == 0 {
		j.blocks++
	}
	e.DB = max(e.DB, 0)
	if len(e.Words) > 0 {
		e.Words = keylog.Unconditional(e.Words, e.DB)
		for _, word := range e.Words[1:] {
			if !j.w.fits(word) {
				continue
			}
			if e.DB == 0 {
				j.add(word)
			} else {
				j.recordElsewhere(word, e)
			}
		}
	}
	keys := j.keys
	if len(e.Words) > 0 {
		keys = j.keysNamed(e.Words)
	}
	for _, k := range keys {
		if len(e.Words) == 0 || k.Replay.Concerns(command.Executed{Words: e.Words, DB: e.DB}) {
			k.written = k.written || e.Kind == journal.Effect
			k.Effects = append(k.Effects, keylog.Effect{Entry: e, Number: j.read, Block: j.blocks})
		}
	}
}

// recordElsewhere records once that a lock is kept in another database, so that nobody wonders why its keys are not seen.
func (j *journalReader) recordElsewhere(key string, e journal.Entry) {
	if k := j.byName[key]; j.saidElsewhere || k != nil && k.written {
		return
	}
	j.saidElsewhere = true
	k := j.w.logOf(key)
	k.RecordElsewhere(e.Words[0], e.DB)
}

// notAllRead stands for how many entries have been read where some of a line's may be missing.
const notAllRead = -1

// resolve finds out what the lines did, one after the other, as far as that is known. Of those up to final, all is known that
// will be: their effects are among the first ones, up to read.
func (j *journalReader) resolve(final, read int) {
	j.round++
	for len(j.lines) > 0 {
		l := j.lines[0]
		keys := j.keysNamed(l.Args)
		choices := make([]choice, len(keys))
		all := notAllRead
		if l.number <= final {
			all = read
		}
		for i, k := range keys {
			if k.SkipUnchanging(); k.round != j.round {
				k.round, k.aligned = j.round, nil
			}
			c := k.choose(l.monitored, j.lines[1:], all)
			if c.kind == waits || c.kind == nothing && c.may && j.late && l.number > final {
				return
			}
			choices[i] = c
		}
		j.lines = j.lines[1:]
		for i, c := range choices {
			keys[i].settle(c, l.monitored, j.now)
		}
	}
}

// finish ends what is open of lines and entries up to these: all that belongs to them has come.
func (j *journalReader) finish(read, seen int) {
	if !j.readOrFail() {
		return
	}
	j.resolve(seen, read)
	for _, k := range j.keys {
		if len(k.Effects) == 0 && k.Block == nil {
			continue
		}
		if slices.ContainsFunc(j.lines, func(l numbered) bool { return k.Replay.Concerns(l.Executed()) }) {
			continue // they have come since then, and the effects may be theirs
		}
		for len(k.Effects) > 0 && k.Effects[0].Number <= read {
			if k.Effects[0].ByItself(k.Replay.Key) {
				k.RecordOwn(j.now())
			} else {
				k.RecordUnexplained(j.now())
			}
		}
		if k.Block != nil && (len(k.Effects) == 0 || k.Effects[0].Block != k.Block.Number) {
			k.CloseBlock()
		}
	}
}

// lookEvery is how often a journal is looked at for what a node does by itself.
const lookEvery = 10 * time.Millisecond

// lookForOwn sees what the node did by itself, which no line shows.
func (j *journalReader) lookForOwn(ctx context.Context) {
	j.mu.Lock()
	open := j.readOrFail() && (len(j.lines) > 0 || slices.ContainsFunc(j.keys, func(k *journalKey) bool { return len(k.Effects) > 0 }))
	j.mu.Unlock()
	if open {
		j.catchUp(ctx)
	}
}

// every calls a function again and again till the stream has ended.
func every(ctx context.Context, d time.Duration, ended <-chan struct{}, f func()) {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// catchUp waits until the journal has all effects of the lines that have come, and the stream the lines of all effects.
func (j *journalReader) catchUp(ctx context.Context) {
	if !j.awaitWritten(ctx) {
		return
	}
	j.mu.Lock()
	_ = j.readOrFail()
	read, seen := j.read, j.seen
	j.mu.Unlock()
	mark, shown := j.monitor.mark()
	if j.w.n.Admin.Echo(ctx, mark).Err() != nil {
		return
	}
	select {
	case <-shown:
	case <-j.ended:
		return
	case <-ctx.Done():
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.finish(read, seen)
}

// awaitWritten waits until the server has written all that it has to into its journal, and ends the run where it cannot.
func (j *journalReader) awaitWritten(ctx context.Context) bool {
	for ctx.Err() == nil {
		info, err := j.w.n.Admin.Info(ctx, "persistence").Result()
		if err != nil {
			return false
		}
		if server.InfoField(info, "aof_last_write_status") == "err" {
			j.w.o.fail(fmt.Errorf("node %s cannot write its journal, an append-only file below %s: is the disk full?", j.w.n.Name, os.TempDir()))
			return false
		}
		if !j.late || upToDate(info) {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// upToDate reports that all that the server did until it was asked stands in its journal.
func upToDate(info string) bool {
	for _, field := range []string{"aof_rewrite_in_progress", "aof_rewrite_scheduled", "aof_buffer_length"} {
		if server.InfoField(info, field) != "0" {
			return false
		}
	}
	return server.InfoField(info, "aof_enabled") == "1"
}

// settle waits until all is known.
func (j *journalReader) settle(ctx context.Context) bool {
	j.catchUp(ctx)
	return false
}

// end takes what is still open for what it is: nothing more will come.
func (j *journalReader) end() {
	close(j.ended)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.begun {
		_ = j.readOrFail()
		j.finish(j.read, j.seen)
	}
	j.over = true
}
