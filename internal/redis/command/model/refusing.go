package model

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// writes reports whether Redis takes a command for a write, whatever it does then.
func writes(op command.Op) bool {
	switch op {
	case command.SET, command.DEL, command.PEXPIRE, command.INCR, command.RPUSH, command.DELIFEQ:
		return true
	}
	return false
}

// refusing is what a script sees of a node that refuses writes: the first one ends it.
type refusing struct{ *Memory }

// Set refuses.
func (m refusing) Set(string, string, time.Duration, bool) bool { return m.refused() }

// Del refuses.
func (m refusing) Del(string) bool { return m.refused() }

// PExpire refuses.
func (m refusing) PExpire(string, time.Duration) bool { return m.refused() }

// Incr refuses.
func (m refusing) Incr(string) (int64, bool) { return 0, m.refused() }

// RPush refuses.
func (m refusing) RPush(string, string) int64 {
	m.refused()
	return 0
}

func (m refusing) refused() bool {
	if m.fault == "" {
		m.fault = m.Refuse
	}
	return false
}
