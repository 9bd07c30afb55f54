package keylog

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// IsAlive reports that a key is there, and for longer than a command takes.
func IsAlive(k command.Key, at command.Span) bool {
	return k.Holds != command.Absent && (k.Expires == (command.Span{}) || k.Expires.From > at.To+Near)
}

// Near is how many ms may lie between when a command was carried out and the time that MONITOR shows. On a busy machine there
// can be more; then the effects are not the line's before all others have been looked at.
const Near = 2

// Likeness is how effects fit a command.
type Likeness uint8

const (
	Differently Likeness = iota
	Nearly
	Exactly
)

// Fit compares the effects from one on with what a command can have done to a key.
func (k *Key) Fit(base command.Key, from int, outcomes []command.Result, c Line) (n int, best command.Result, how Likeness) {
	if k.Effects[from].Kind != journal.Effect {
		return 0, best, Differently
	}
	for _, o := range outcomes {
		if o.Did == command.Kept {
			continue
		}
		for some := 1; some <= k.together(from); some++ {
			if l := compareKeys(o.After, k.After(base, from, some), k.Effects[from].Words, c); l > how {
				n, best, how = some, o, l
			}
		}
	}
	return n, best, how
}

// together is how many entries from one on may be the effect of one command. Redis 6 writes a SET with an end as two.
func (k *Key) together(from int) int {
	if from+1 == len(k.Effects) {
		return 1
	}
	one, next := &k.Effects[from], &k.Effects[from+1]
	if next.Kind == journal.Effect && strings.EqualFold(one.Words[0], "set") && strings.EqualFold(next.Words[0], "pexpireat") &&
		(next.Block == one.Block || one.First && one.Last && next.First && next.Last) {
		return 2
	}
	return 1
}

// compareKeys compares what a command made of a key, by its words, with what the journal says.
func compareKeys(predicted, is command.Key, words []string, c Line) Likeness {
	if predicted.Holds == command.Unclear {
		return compareWords(words, Unconditional(c.Args, c.DB))
	}
	expected, end, none := predicted.Expires, is.Expires, command.Span{}
	predicted.Expires = end
	if !predicted.Equal(is) || (expected == none) != (end == none) {
		return Differently
	}
	if expected == none || end.From >= expected.From-Near && end.To <= expected.To+Near {
		return Exactly
	}
	return Nearly
}

// compareWords compares the words of an effect with those of a command of which only these are known. A server writes many commands down
// as they came: then other words are another's.
func compareWords(effect, sent []string) Likeness {
	if slices.EqualFunc(effect, sent, strings.EqualFold) {
		return Exactly
	}
	if slices.Contains(asTheyCame, effect[0]) && strings.EqualFold(effect[0], sent[0]) {
		return Differently
	}
	return Nearly
}

// asTheyCame are commands that stand in a journal with the words that their clients sent.
var asTheyCame = []string{"MSET", "RENAME", "COPY", "RESTORE", "LPUSH", "RPUSH", "SADD", "ZADD", "ZINCRBY", "LREM", "ZREM"}

// After is what a key becomes by some effects.
func (k *Key) After(key command.Key, from, n int) command.Key {
	r := k.Replay
	r.Key = key
	for _, e := range k.Effects[from : from+n] {
		applied(&r, e.Entry)
	}
	return r.Key
}

// Apply lets the key become what an entry of the journal says.
func (k *Key) Apply(e journal.Entry) command.Change { return applied(&k.Replay, e) }

// applied lets a key become what an entry says. All its times are absolute, and it stands there because it was done.
func applied(r *command.Replay, e journal.Entry) command.Change {
	if e.Kind == journal.Effect || e.Kind == journal.Base {
		return r.See(command.Executed{Words: e.Words, DB: e.DB}, false)
	}
	if e.Kind == journal.Gap {
		r.Key = command.Key{} // what Base does not bring back is gone
	}
	return command.Change{}
}

// Unconditional is an entry without the conditions of its command: that it stands in the journal says that they were met.
func Unconditional(words []string, db int) []string {
	switch name := strings.ToUpper(words[0]); {
	case name == "SET" && len(words) > 3:
		o := command.ParseOptions(words[3:], command.SetTakes+" IFEQ IFNE IFDEQ IFDNE")
		words = slices.Clone(words[:3])
		if o.Expiry != "" {
			words = append(words, o.Expiry)
		}
		if o.Expiry != "" && o.Expiry != "KEEPTTL" {
			words = append(words, o.Number)
		}
	case name == "HSETEX": // Redis writes FNX and FXX down
		return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
			return strings.EqualFold(word, "FNX") || strings.EqualFold(word, "FXX")
		})
	case name == "MSETNX":
		return append([]string{"MSET"}, words[1:]...)
	case name == "RENAMENX":
		return append([]string{"RENAME"}, words[1:]...)
	case name == "MOVE" && len(words) > 1:
		if db == 0 { // another has it now
			return []string{"DEL", words[1]}
		}
	}
	return words
}
