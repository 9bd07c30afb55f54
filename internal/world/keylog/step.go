package keylog

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

// Step is what a command, a script or a transaction did to a key in all: nobody sees the key in between, so it is one event,
// or, if it made a key and removed it, two.
type Step struct {
	Number int
	Before command.Key
	// Expired: the key had run out before.
	Expired bool
	Line    Line
	At      command.Span
	// wrote and extended: it was written, or got another end. ends: the end was named. gone: it was removed in between.
	wrote, extended, ends, gone bool
	// last is what the key was when it was there for the last time.
	last command.Key
}

// Add takes in one of the changes, after which the key is as after says.
func (s *Step) Add(change command.Change, after command.Key) {
	s.wrote = s.wrote || change.Did == command.Wrote
	s.extended = s.extended || change.Did == command.Extended
	s.ends = s.ends || change.Ends
	if after.Holds == command.Absent {
		s.gone = true
	} else {
		s.last = after
	}
}

// fleeting reports that the step made a key, and removed it: a text or a hash, as a list is handed to who waits for it.
func (s *Step) fleeting(change command.Change, now command.Key) bool {
	handed := s.last.Holds != command.Text && s.last.Holds != command.Hash
	return change.Did == command.Kept && s.wrote && now.Holds == command.Absent && !handed
}

// change is what the step did in all, and what the key was before.
func (s *Step) change(now command.Key) (command.Change, command.Key) {
	change, before := command.Change{Ends: s.ends, Expired: s.Expired}, s.Before
	absent := before.Holds == command.Absent || s.Expired
	switch {
	case now.Holds == command.Unclear:
		change.Did = command.Obscured
	case now.Holds == command.Absent:
		if !absent {
			change.Did = command.Deleted
		}
	case s.wrote:
		if change.Did = command.Wrote; s.gone && !s.Expired {
			before = command.Key{}
		}
	case s.extended:
		change.Did = command.Extended
	}
	return change, before
}
