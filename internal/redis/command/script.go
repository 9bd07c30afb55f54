package command

import (
	"crypto/sha1" //nolint:gosec // the name that Redis itself gives a script
	"encoding/hex"
	"time"
)

// Script is a Redis script and its twin: the Lua source for a real server and
// the same algorithm in Go for a model of one. A property test runs both on
// the same random commands and demands the same answers.
type Script struct {
	Name string
	Lua  string
	// Twin must do to s what Lua does to a server.
	Twin func(s Store, keys, args []string) Reply
	sha  string
}

// NewScript names a script. Redis calls scripts by the SHA-1 of their source.
func NewScript(name, lua string, twin func(Store, []string, []string) Reply) *Script {
	return &Script{Name: name, Lua: lua, Twin: twin, sha: SHA(lua)}
}

// SHA is the name of a script with this source for EVALSHA.
func SHA(lua string) string {
	sum := sha1.Sum([]byte(lua)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// SHA is the script's name for EVALSHA.
func (s *Script) SHA() string { return s.sha }

// Store is a node's data as its scripts see it: redis.call, typed. A key that
// has expired is absent.
type Store interface {
	Get(key string) (value string, ok bool)
	// Set writes a key; ttl 0 means no expiry. With nx it does nothing and
	// returns false where the key exists.
	Set(key, value string, ttl time.Duration, nx bool) bool
	Del(key string) bool
	// PExpire returns false where the key is absent.
	PExpire(key string, ttl time.Duration) bool
	// PTTL is -2 (ms) where the key is absent and -1 where it has no expiry.
	PTTL(key string) int64
	// Incr and Decr return ok false where the value is no integer.
	Incr(key string) (n int64, ok bool)
	Decr(key string) (n int64, ok bool)
	HGet(key, field string) (value string, ok bool)
	// HSet writes a field, which has no expiry of its own then.
	HSet(key, field, value string)
	HDel(key, field string) bool
	// HPExpire returns false where the field is absent.
	HPExpire(key, field string, ttl time.Duration) bool
	// ZAdd gives an element of a sorted set a score.
	ZAdd(key string, score float64, element string)
	ZRem(key, element string) bool
	// ZRemUpTo is ZREMRANGEBYSCORE from -inf to a score.
	ZRemUpTo(key string, score float64)
	ZCard(key string) int64
	// ZFirst is ZRANGE from 0 to 0; empty: there is no element.
	ZFirst(key string) string
	ZScore(key, element string) (float64, bool)
	RPush(key, element string) int64
	LRange(key string) []string
	// Time is the node's wall clock in microseconds since 1970.
	Time() int64
}
