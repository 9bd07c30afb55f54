package lock

import (
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	a := keptInSet("read-write", "readers and writers: a sorted set of who has the lock, each with its end by the node's clock", takeMode)
	a.Modes, a.Mistakes = true, a.Mistakes.and(Mistakes{ReadersPass: true, BothWait: true, UpgradeWaits: true, LastComeEnds: true})
	a.New = func(c Config, env Env) Lock {
		return &readWrite{permits{single{Config: c, env: env, take: takeMode, give: giveMode, deleteOwn: removePermit}}}
	}
	register(a)
	a = kept("read-write-counter", "readers and writers: the writer's value, or a counter of the readers, which does not say who they are",
		severalMistakes, countReader, uncountReader)
	a.Modes, a.Ownerless = true, true
	a.New = func(c Config, env Env) Lock {
		l := &single{Config: c, env: env, take: countReader, give: uncountReader}
		if c.Shared {
			l.deleteOwn = func(key, _ string) command.Command { return command.Eval(uncountReaderScript, []string{key}) }
		}
		return l
	}
	register(a)
}

// writers is how the value of a writer begins.
const writers = "w:"

// takeMode takes the lock beside readers, or, for a writer, where nobody has it.
func takeMode(l *single, owner string) (Grant, Result) {
	if !l.Shared {
		owner = writers + owner
	}
	args := l.permitArgs(owner)
	args[2] = command.Itoa(command.Milliseconds(l.TTL / writerWaits))
	if l.Mistakes.ReadersPass {
		args[2] = "0"
	}
	if l.Mistakes.LastComeEnds {
		args = append(args[:3], strings.Join(args[3:], ""), "last-come")
	}
	keys := []string{l.Key}
	if l.Mistakes.BothWait {
		keys = append(keys, l.Key+":reader")
	}
	return l.takeByKeys(takeModeScript, keys, owner, args...)
}

// readWrite is a lock with readers and writers in a sorted set, whose reader can ask to write.
type readWrite struct{ permits }

var _ Upgrader = (*readWrite)(nil)

// Upgrade lets a reader write that reads alone: its entry becomes a writer's. Else it is refused at once, since the others may ask the
// same, and would wait for it. By mistake it waits, and keeps its entry meanwhile.
func (l *readWrite) Upgrade(reader Grant) (Grant, Result) {
	return acquireWithRetry(l.env, &l.Config, func() (Grant, Result) {
		g := l.leased(writers+reader.Owner, l.now())
		g.Reader = reader.Owner
		r := l.do(l.changeMode(reader.Owner, g.Owner))
		g, result := l.granted(g, r, r.OK() && r.Int == 1)
		if result.Outcome != Fail {
			return g, result
		}
		result.Final = true
		if l.Mistakes.UpgradeWaits {
			_, kept := l.Extend(reader)
			result.Final = kept.Outcome == Fail
		}
		return g, result
	})
}

// changeMode gives an entry another name, and the whole TTL.
func (l *single) changeMode(from, to string) command.Command {
	args := l.permitArgs(from)
	args[2] = to
	return command.Eval(changeModeScript, []string{l.Key}, args...)
}

// giveMode gives the lock back. After an upgrade the client is a reader again.
func giveMode(l *single, g Grant) Result {
	if g.Reader == "" {
		return givePermit(l, g)
	}
	return deleted(l.do(l.changeMode(g.Owner, g.Reader)), notOurs)
}

// writerWaits: for a part of the TTL after a writer was refused, no new reader comes in.
const writerWaits = 4

// countReader takes the lock for a writer where it is free, or counts one reader more.
func countReader(l *single, owner string) (Grant, Result) {
	if !l.Shared {
		return setNX(l, owner)
	}
	return l.takeBy(countReaderScript, owner, command.Itoa(command.Milliseconds(l.TTL)))
}

// uncountReader takes one reader off the counter, whoever it is, or gives the lock of a writer back.
func uncountReader(l *single, g Grant) Result {
	if !l.Shared {
		return compareAndDelete(l, g)
	}
	return deleted(l.do(command.Eval(uncountReaderScript, []string{l.Key})), "")
}

// takeModeScript removes who has ended, and adds a reader where no writer is or waits, or a writer where nobody is. A writer is alone, so
// it is the first. A writer that is refused waits for ARGV[3] ms: it leaves a key, and asks again. By mistake a reader does the same, and
// leaves KEYS[2]; and by mistake, with ARGV[5], the key ends with the reader that came last, though another is to have it for longer.
var takeModeScript = command.NewScript("take-mode", `
local time = redis.call('time')
local now = tonumber(ARGV[4]) or time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
local first = redis.call('zrange', KEYS[1], 0, 0)[1]
local writes, waiting = string.sub(ARGV[1], 1, 2) == 'w:', KEYS[1] .. ':writer'
if writes and (first or KEYS[2] and redis.call('get', KEYS[2])) then
  if ARGV[3] ~= '0' then redis.call('set', waiting, '1', 'PX', ARGV[3]) end
  return 0
end
if not writes and (first and string.sub(first, 1, 2) == 'w:' or redis.call('get', waiting)) then
  if KEYS[2] and ARGV[3] ~= '0' then redis.call('set', KEYS[2], '1', 'PX', ARGV[3]) end
  return 0
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
if ARGV[5] or tonumber(ARGV[2]) > redis.call('pttl', KEYS[1]) then redis.call('pexpire', KEYS[1], ARGV[2]) end
if writes then redis.call('del', waiting) elseif KEYS[2] then redis.call('del', KEYS[2]) end
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ttl, waits, now := permitWords(s, args)
	s.ZRemUpTo(keys[0], float64(now))
	first := s.ZFirst(keys[0])
	writes, waiting, reader := strings.HasPrefix(args[0], writers), keys[0]+":writer", ""
	if len(keys) > 1 {
		reader = keys[1]
	}
	lasts := time.Duration(waits) * time.Millisecond
	switch {
	case writes && (first != "" || reader != "" && holdsText(s, reader)):
		if waits > 0 {
			s.Set(waiting, "1", lasts, false)
		}
		return command.IntReply(0)
	case !writes && (strings.HasPrefix(first, writers) || holdsText(s, waiting)):
		if reader != "" && waits > 0 {
			s.Set(reader, "1", lasts, false)
		}
		return command.IntReply(0)
	}
	s.ZAdd(keys[0], float64(now+ttl), args[0])
	if len(args) > 4 || ttl > s.PTTL(keys[0]) {
		s.PExpire(keys[0], time.Duration(ttl)*time.Millisecond)
	}
	switch {
	case writes:
		s.Del(waiting)
	case reader != "":
		s.Del(reader)
	}
	return command.IntReply(1)
})

// changeModeScript gives the entry ARGV[1] the name ARGV[3], if it is there, and alone.
var changeModeScript = command.NewScript("change-mode", `
local time = redis.call('time')
local now = tonumber(ARGV[4] or time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if not redis.call('zscore', KEYS[1], ARGV[1]) or redis.call('zcard', KEYS[1]) > 1 then return 0 end
redis.call('zrem', KEYS[1], ARGV[1])
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ttl, _, now := permitWords(s, args)
	s.ZRemUpTo(keys[0], float64(now))
	if _, has := s.ZScore(keys[0], args[0]); !has || s.ZCard(keys[0]) > 1 {
		return command.IntReply(0)
	}
	s.ZRem(keys[0], args[0])
	s.ZAdd(keys[0], float64(now+ttl), args[2])
	s.PExpire(keys[0], time.Duration(ttl)*time.Millisecond)
	return command.IntReply(1)
})

// countReaderScript adds one to the counter, if no writer's value is there.
var countReaderScript = command.NewScript("count-reader", `
local value = redis.call('get', KEYS[1])
if value and not string.match(value, '^-?%d+$') then return 0 end
redis.call('incr', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[1])
return 1
`, func(s command.Store, keys, args []string) command.Reply {
	ttl, _ := strconv.ParseInt(args[0], 10, 64)
	if value, has := s.Get(keys[0]); has && !isNumber(value) {
		return command.IntReply(0)
	}
	if _, ok := s.Incr(keys[0]); ok {
		s.PExpire(keys[0], time.Duration(ttl)*time.Millisecond)
	}
	return command.IntReply(1)
})

// uncountReaderScript takes one off the counter. With the last reader the key goes. A writer's value stays.
var uncountReaderScript = command.NewScript("uncount-reader", `
local value = redis.call('get', KEYS[1])
if not value or not string.match(value, '^-?%d+$') then return 0 end
if tonumber(value) <= 1 then return redis.call('del', KEYS[1]) end
redis.call('decr', KEYS[1])
return 1
`, func(s command.Store, keys, _ []string) command.Reply {
	value, has := s.Get(keys[0])
	if !has || !isNumber(value) {
		return command.IntReply(0)
	}
	if n, _ := strconv.ParseInt(value, 10, 64); n <= 1 {
		s.Del(keys[0])
		return command.IntReply(1)
	}
	s.Decr(keys[0])
	return command.IntReply(1)
})

// isNumber reports that a value is a count of readers.
func isNumber(value string) bool {
	digits := strings.TrimPrefix(value, "-")
	return digits != "" && !strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
}
