package lock

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
)

// acquireWithRetry repeats attempt until it succeeds, its outcome is unknown,
// or the configured attempts are used up.
func acquireWithRetry(env Env, c *Config, attempt func() (Grant, Result)) (Grant, Result) {
	return acquireWaiting(env, c, attempt, func(n int) { env.Wait(c.Retry.Wait(env, n)) })
}

// acquireWaiting does so, and lets wait pass the time after the n-th attempt.
func acquireWaiting(env Env, c *Config, attempt func() (Grant, Result), wait func(n int)) (Grant, Result) {
	for n := 1; ; n++ {
		g, result := attempt()
		if result.Outcome == Fail && env.Cancelled() {
			return Grant{}, Result{Outcome: Fail, Err: cancelled}
		}
		if result.Outcome == Fail && (n >= c.Retry.Attempts || result.Final) {
			return c.GiveUp(env, result)
		}
		if result.Outcome != Fail {
			return g, result
		}
		if wait(n); env.Cancelled() {
			return Grant{}, Result{Outcome: Fail, Err: cancelled}
		}
	}
}

// cancelled is why an attempt failed that was cancelled.
const cancelled = "cancelled"

// leaves reports that an attempt has been cancelled, and by mistake takes nothing back.
func (c *Config) leaves(env Env) bool { return c.Mistakes.CancelLeaves && env.Cancelled() }

// takesBack reports that an attempt takes back what it has set, where it failed.
func (c *Config) takesBack(env Env) bool { return !c.Mistakes.NoCleanup && !c.leaves(env) }

// GiveUp is what a client is told whose last attempt failed.
func (c *Config) GiveUp(env Env, last Result) (Grant, Result) {
	if c.Mistakes.EnterUnheld {
		return Grant{Owner: newOwner(env), Until: c.until(c.now(env))}, Result{Outcome: OK}
	}
	return Grant{}, last
}

// Longest is how long all waits between attempts take at most.
func (r Retry) Longest() time.Duration {
	n := time.Duration(max(r.Attempts-1, 0))
	if r.Backoff == Linear {
		return r.Delay*n*(n+1)/2 + r.Jitter*n
	}
	return (r.Delay + r.Jitter) * n
}

// Wait is the delay after the n-th attempt, from 1.
func (r Retry) Wait(env Env, n int) time.Duration {
	d := r.Delay
	if r.Backoff == Linear {
		d *= time.Duration(n)
	}
	if r.Jitter > 0 {
		d += time.Duration(env.Rand().Int64N(int64(r.Jitter) + 1))
	}
	return d
}

// owner is the value for the keys of one attempt. Where Mistakes.SameValue, it is the client's only one, which is drawn once; where
// Mistakes.TimedValue, all attempts of a second have it.
func (c *Config) owner(env Env, only *string) string {
	if c.Mistakes.TimedValue {
		return strconv.FormatInt(int64(env.Wall()/time.Second), 10)
	}
	if !c.Mistakes.SameValue {
		return newOwner(env)
	}
	if *only == "" {
		*only = newOwner(env)
	}
	return *only
}

// newOwner draws a value that no other attempt has: 64 random bits behind the
// client's name, so that a person can read who it was.
func newOwner(env Env) string {
	var random [8]byte
	binary.LittleEndian.PutUint64(random[:], env.Rand().Uint64())
	var text [64]byte
	b := append(append(text[:0], env.Client()...), '-')
	return string(hex.AppendEncode(b, random[:]))
}
