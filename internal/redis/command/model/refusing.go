package model

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// writes reports whether Redis takes a command for a write, whatever it does then.
func writes(op command.Op) bool {
	switch op {
	case command.SET, command.DEL, command.PEXPIRE, command.INCR, command.DECR, command.RPUSH, command.DELIFEQ, command.HSETEX,
		command.BLPOP:
		return true
	}
	return false
}

// refuses says with what the node answers a command that it does not carry out; empty: it does.
func (m *Memory) refuses(op command.Op) string {
	switch {
	case m.Full && !m.Follows && writes(op) && op != command.DEL && op != command.PEXPIRE && op != command.BLPOP:
		return errFull
	case writes(op):
		return m.Refuse
	}
	return ""
}

var errFull = command.RefusalText("OOM")

// refusing is what a script sees of a node that refuses some writes: the first one ends it.
type refusing struct{ *Memory }

// stops reports that the script ends before such a command.
func (m refusing) stops(op command.Op) bool {
	if m.fault == "" {
		m.fault = m.refuses(op)
	}
	return m.fault != ""
}

// Set may refuse.
func (m refusing) Set(key, value string, ttl time.Duration, nx bool) bool {
	return !m.stops(command.SET) && m.Memory.Set(key, value, ttl, nx)
}

// Del may refuse.
func (m refusing) Del(key string) bool { return !m.stops(command.DEL) && m.Memory.Del(key) }

// PExpire may refuse.
func (m refusing) PExpire(key string, ttl time.Duration) bool {
	return !m.stops(command.PEXPIRE) && m.Memory.PExpire(key, ttl)
}

// HSet may refuse, as SET does.
func (m refusing) HSet(key, field, value string) {
	if !m.stops(command.SET) {
		m.Memory.HSet(key, field, value)
	}
}

// HDel may refuse, as DEL does.
func (m refusing) HDel(key, field string) bool {
	return !m.stops(command.DEL) && m.Memory.HDel(key, field)
}

// HPExpire may refuse, as PEXPIRE does.
func (m refusing) HPExpire(key, field string, ttl time.Duration) bool {
	return !m.stops(command.PEXPIRE) && m.Memory.HPExpire(key, field, ttl)
}

// ZAdd may refuse, as SET does.
func (m refusing) ZAdd(key string, score float64, element string) {
	if !m.stops(command.SET) {
		m.Memory.ZAdd(key, score, element)
	}
}

// ZRem may refuse, as DEL does.
func (m refusing) ZRem(key, element string) bool {
	return !m.stops(command.DEL) && m.Memory.ZRem(key, element)
}

// ZRemUpTo may refuse, as DEL does.
func (m refusing) ZRemUpTo(key string, score float64) {
	if !m.stops(command.DEL) {
		m.Memory.ZRemUpTo(key, score)
	}
}

// Incr may refuse.
func (m refusing) Incr(key string) (int64, bool) {
	if m.stops(command.INCR) {
		return 0, false
	}
	return m.Memory.Incr(key)
}

// Decr may refuse.
func (m refusing) Decr(key string) (int64, bool) {
	if m.stops(command.DECR) {
		return 0, false
	}
	return m.Memory.Decr(key)
}

// RPush may refuse.
func (m refusing) RPush(key, element string) int64 {
	if m.stops(command.RPUSH) {
		return 0
	}
	return m.Memory.RPush(key, element)
}
