package monitor

import (
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Steps finds out, line by line, what belongs together. Commands of a script show Script as their source, and follow the script's own line.
// For them and for those of a transaction the server's time stands still.
type Steps struct {
	// script is the time of the line of the script that runs.
	script time.Duration
	// begun has, by connection, when the transaction that it carries out began; 0: it has only said MULTI.
	begun map[string]time.Duration
	// step is the number of the step that the latest line is of. It began at from, at the earliest; last is the time of the latest line.
	step       int
	from, last time.Duration
}

// Placed says where a line belongs.
type Placed struct {
	// Step is the same for all lines of a command, a script or a transaction. More: others of them may follow.
	Step int
	More bool
	// Queued: the command was one of a transaction.
	Queued bool
	// Began is when the step began, by the time of its first line.
	Began time.Duration
	// Window is when the line's command was carried out, where nothing but the stream says so, in ms since 1970.
	Window command.Span
}

// Place takes in the next line.
func (s *Steps) Place(l Line) Placed {
	p := Placed{Began: l.At}
	goesOn := l.Source == Script
	if goesOn {
		p.Began, p.More = min(s.script, l.At), true
	} else {
		goesOn = s.inTransaction(&l, &p)
		s.script = l.At
	}
	if !goesOn {
		s.step++
		s.from = l.At - longest
		if s.last <= l.At {
			s.from = max(s.from, s.last)
		}
	}
	s.last = l.At
	p.Step, p.Window = s.step, command.Span{From: min(s.from, l.At).Milliseconds(), To: l.At.Milliseconds()}
	return p
}

// Forget says that lines were left out: what connections had begun may be over.
func (s *Steps) Forget() { s.begun = nil }

// longest is how long a command may take, or wait inside for its processor, before MONITOR shows it. A server carries out one after
// the other, so it has not begun before the line of the command before it either.
const longest = 20 * time.Millisecond

// mostOpen bounds how many connections are known to have said MULTI: some of them may have ended since, which MONITOR does not show.
const mostOpen = 100_000

// inTransaction says of a line what it has to do with a transaction, and reports whether it goes on with one.
func (s *Steps) inTransaction(l *Line, p *Placed) bool {
	name := strings.ToUpper(l.Args[0])
	began, open := s.begun[l.Source]
	switch {
	case name == "MULTI":
		if s.begun == nil || len(s.begun) == mostOpen {
			s.begun = make(map[string]time.Duration)
		}
		s.begun[l.Source] = 0
	case !open:
		p.More = strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "FCALL")
	case name == "EXEC" || name == "DISCARD":
		delete(s.begun, l.Source)
	case began == 0:
		s.begun[l.Source], p.More, p.Queued = l.At, true, true
	default:
		p.Began, p.More, p.Queued = min(began, l.At), true, true
	}
	return open && began > 0
}
