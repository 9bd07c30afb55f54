package keylog

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// connection is what commands of before mean for later ones.
type connection struct {
	// multi: a transaction has begun, of which queue has the commands.
	multi bool
	queue [][]string
}

// unit is what a server does in one step: a command, a script or a transaction. It has one block of the journal, or none.
type unit struct {
	acts []act
	// often: it may have any number of blocks.
	often bool
}

// act is a command of a unit. script: it may do anything.
type act struct {
	words  []string
	script bool
}

// part are entries of a block, with the command that did it; nil: the key had run out, or nothing changed.
type part struct {
	n      int
	by     *act
	result command.Result
	// kept: nothing changed.
	kept bool
}

func (j *Journal) connection(name string) *connection {
	c := j.connections[name]
	if c == nil {
		c = &connection{}
		j.connections[name] = c
	}
	return c
}

// Closed forgets a connection.
func (j *Journal) Closed(name string) { delete(j.connections, name) }

// units are what a server makes of the commands of a connection.
func (c *connection) units(commands [][]string) (list []unit) {
	for _, words := range commands {
		if len(words) == 0 {
			continue
		}
		switch name := strings.ToUpper(words[0]); {
		case name == "MULTI":
			c.multi = true
		case name == "RESET":
			*c = connection{}
		case name == "DISCARD":
			c.multi, c.queue = false, nil
		case name == "EXEC":
			var u unit
			for _, queued := range c.queue {
				u.acts = append(u.acts, actOf(queued))
			}
			list = append(list, u)
			c.multi, c.queue = false, nil
		case c.multi:
			c.queue = append(c.queue, words)
		default:
			list = append(list, unit{acts: []act{actOf(words)}})
		}
	}
	return list
}

func actOf(words []string) act {
	name := strings.ToUpper(words[0])
	return act{words: words, script: strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "FCALL")}
}

// text are the words that the client sent.
func (u *unit) text() (words []string) {
	if len(u.acts) == 1 {
		return u.acts[0].words
	}
	for _, a := range u.acts {
		words = append(words, a.words...)
	}
	return words
}

// explain explains the first n entries, which are a block, by a unit. end is when the key ends after that; 0: never.
func (k *followed) explain(u *unit, n int, at command.Span) (parts []part, end int64, fit bool) {
	base, acts := k.Replay.Key, u.acts
	for i := 0; i < n; {
		p := part{n: 1}
		switch is := k.kind(base, i, at); is {
		case own, unchanging:
			p.kept = is == unchanging
		case done:
			if p, acts = k.doneBy(acts, base, i, at); p.by == nil {
				return nil, 0, false
			}
		}
		parts, base = append(parts, p), k.After(base, i, p.n)
		i += p.n
	}
	return parts, base.Expires.From, true
}

// entryKind says what an entry tells of a key.
type entryKind uint8

const (
	// done: a command did something.
	done entryKind = iota
	// own: the key had run out, or the server has got other data.
	own
	// unchanging: the key is what it was before.
	unchanging
)

func (k *followed) kind(base command.Key, i int, at command.Span) entryKind {
	e := &k.Effects[i]
	if e.Kind != journal.Effect || e.removes(base) && k.ranOut(base, at) {
		return own
	}
	r := k.Replay
	r.Key = base
	if applied(&r, e.Entry).Did == command.Kept {
		return unchanging
	}
	return done
}

// ranOut reports that a key had run out.
func (k *followed) ranOut(key command.Key, at command.Span) bool {
	return key.Expires != (command.Span{}) && key.Expires.To < at.From
}

// doneBy finds the first of some commands that did what the entries from the i-th on say, and those that may have done what comes next.
func (k *followed) doneBy(acts []act, base command.Key, i int, at command.Span) (part, []act) {
	for n := range acts {
		a := &acts[n]
		if a.script {
			return part{n: 1, by: a}, acts[n:]
		}
		line := Line{DB: k.Effects[i].DB, Args: a.words, Span: at}
		if !k.Replay.Concerns(line.Executed()) {
			continue
		}
		took, result, how := k.Fit(base, i, k.Replay.Outcomes(line.Executed(), base), line)
		if took > 1 && !k.writesEndsApart() {
			continue
		}
		if how == Exactly || how == Nearly && result.After.Holds == command.Unclear {
			return part{n: took, by: a, result: result}, acts[n+1:]
		}
	}
	return part{}, nil
}

// writesEndsApart reports that the server writes a SET with an end as two entries: before version 6.2.
func (k *followed) writesEndsApart() bool {
	s := k.Replay.Server
	return s.Major < 6 || s.Major == 6 && s.Minor < 2
}
