package node

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

var sortedSetRows = []row{
	{name: "zadd", arity: -4, flags: write, first: 1, last: 1, step: 1, do: zadd},
	{name: "zincrby", arity: 4, flags: write, first: 1, last: 1, step: 1, do: zincrby},
	{name: "zrem", arity: -3, flags: write, first: 1, last: 1, step: 1, do: removing(model.SortedSet, sortedClass, "zrem")},
	{name: "zremrangebyscore", arity: 4, flags: write, first: 1, last: 1, step: 1, do: zremrangebyscore},
	{name: "zremrangebyrank", arity: 4, flags: write, first: 1, last: 1, step: 1, do: zremrangebyrank},
	{name: "zscore", arity: 3, first: 1, last: 1, step: 1, do: zscore},
	{name: "zrank", arity: 3, first: 1, last: 1, step: 1, do: zrank},
	{name: "zcard", arity: 2, first: 1, last: 1, step: 1, do: sizeOf(model.SortedSet)},
	{name: "zcount", arity: 4, first: 1, last: 1, step: 1, do: zcount},
	{name: "zrange", arity: -4, first: 1, last: 1, step: 1, do: zrange(ranged{any: true})},
	{name: "zrevrange", arity: -4, first: 1, last: 1, step: 1, do: zrange(ranged{reversed: true})},
	{name: "zrangebyscore", arity: -4, first: 1, last: 1, step: 1, do: zrange(ranged{byScore: true})},
}

func (x *call) openSorted(key string) (*members, bool) {
	return x.open(key, model.SortedSet, sortedClass)
}

// setScore puts a member where its score belongs.
func (s *members) setScore(name string, score float64) {
	s.remove(name)
	s.cloneOnce()
	one := model.Member{Name: name, Score: score}
	i, _ := slices.BinarySearchFunc(s.list, one, func(a, b model.Member) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Name, b.Name))
	})
	s.list = slices.Insert(s.list, i, one)
}

// score reads one; where it is none, it answers so.
func (x *call) score(word string) (float64, bool) {
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(f) {
		x.fail(errNotReal)
		return 0, false
	}
	return f, true
}

// zaddOptions are those of ZADD.
type zaddOptions struct{ nx, xx, gt, lt, ch, incr bool }

func zadd(x *call, w []string) {
	var o zaddOptions
	flags := map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt, "CH": &o.ch, "INCR": &o.incr}
	i := 2
	for ; i < len(w); i++ {
		flag := flags[strings.ToUpper(w[i])]
		if flag == nil {
			break
		}
		*flag = true
	}
	pairs := w[i:]
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		x.fail(errSyntax)
	case o.nx && o.xx:
		x.fail("ERR XX and NX options at the same time are not compatible")
	case o.gt && o.lt, o.nx && (o.gt || o.lt):
		x.fail("ERR GT, LT, and/or NX options at the same time are not compatible")
	case o.incr && len(pairs) > 2:
		x.fail("ERR INCR option supports a single increment-element pair")
	default:
		x.zadd(w[1], pairs, o)
	}
}

func zincrby(x *call, w []string) { x.zadd(w[1], w[2:], zaddOptions{incr: true}) }

func (x *call) zadd(key string, pairs []string, o zaddOptions) {
	scores := make([]float64, len(pairs)/2)
	for i := range scores {
		var ok bool
		if scores[i], ok = x.score(pairs[2*i]); !ok {
			return
		}
	}
	s, ok := x.openSorted(key)
	if !ok {
		return
	}
	var counts [zaddEffects]int
	score := 0.0
	for i := range scores {
		var did zaddEffect
		if score, did = o.apply(s, pairs[2*i+1], scores[i]); math.IsNaN(score) {
			x.fail("ERR resulting score is not a number (NaN)")
			return
		}
		counts[did]++
	}
	added, updated := counts[zaddAdded], counts[zaddUpdated]
	done := added+updated+counts[zaddUnchanged] > 0
	switch {
	case o.incr && done:
		x.double(score)
	case o.incr:
		x.null()
	case o.ch:
		x.count(added + updated)
	default:
		x.count(added)
	}
	if added+updated > 0 {
		event := "zadd"
		if o.incr {
			event = "zincr"
		}
		x.save(s, event)
	}
}

// zaddEffect is what ZADD did with a member.
type zaddEffect int

const (
	zaddRefused zaddEffect = iota
	zaddUnchanged
	zaddUpdated
	zaddAdded
	zaddEffects
)

// apply gives a member a score, if the options let it. to is the score that it has then, or would have had.
func (o *zaddOptions) apply(s *members, name string, score float64) (to float64, did zaddEffect) {
	at := s.find(name)
	if at < 0 && o.xx || at >= 0 && o.nx {
		return score, zaddRefused
	}
	if at < 0 {
		s.setScore(name, score)
		return score, zaddAdded
	}
	was := s.list[at].Score
	if o.incr {
		score += was
	}
	if math.IsNaN(score) || o.gt && score <= was || o.lt && score >= was {
		return score, zaddRefused
	}
	if score == was {
		return score, zaddUnchanged
	}
	s.setScore(name, score)
	return score, zaddUpdated
}

func zscore(x *call, w []string) {
	s, ok := x.openSorted(w[1])
	if !ok {
		return
	}
	if i := s.find(w[2]); i >= 0 {
		x.double(s.list[i].Score)
		return
	}
	x.null()
}

func zrank(x *call, w []string) {
	s, ok := x.openSorted(w[1])
	if !ok {
		return
	}
	if i := s.find(w[2]); i >= 0 {
		x.count(i)
		return
	}
	x.null()
}

// bound is an end of a range of scores.
type bound struct {
	score float64
	open  bool
}

func parseBound(word string) (b bound, ok bool) {
	word, b.open = strings.CutPrefix(word, "(")
	if word == "" {
		return b, true
	}
	f, err := strconv.ParseFloat(strings.TrimLeft(word, " \t\n\v\f\r"), 64)
	b.score = f
	return b, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(f)
}

// byScore finds the places of those between two scores; from is not less than to where there
// are none.
func (s *members) byScore(low, high bound) (from, to int) {
	for from < len(s.list) && (s.list[from].Score < low.score || low.open && s.list[from].Score == low.score) {
		from++
	}
	for to = from; to < len(s.list) && (s.list[to].Score < high.score || !high.open && s.list[to].Score == high.score); {
		to++
	}
	return from, to
}

// scores reads two words as a range of scores.
func (x *call) scores(low, high string) (a, b bound, ok bool) {
	a, okA := parseBound(low)
	b, okB := parseBound(high)
	if !okA || !okB {
		x.fail("ERR min or max is not a float")
	}
	return a, b, okA && okB
}

func zcount(x *call, w []string) {
	low, high, ok := x.scores(w[2], w[3])
	if !ok {
		return
	}
	if s, ok := x.openSorted(w[1]); ok {
		from, to := s.byScore(low, high)
		x.count(to - from)
	}
}

func zremrangebyscore(x *call, w []string) {
	low, high, ok := x.scores(w[2], w[3])
	if !ok {
		return
	}
	if s, ok := x.openSorted(w[1]); ok {
		from, to := s.byScore(low, high)
		x.cut(s, from, to, "zremrangebyscore")
	}
}

func zremrangebyrank(x *call, w []string) {
	if _, _, ok := x.span(w[2], w[3], 0); !ok {
		return
	}
	if s, ok := x.openSorted(w[1]); ok {
		from, to, _ := x.span(w[2], w[3], len(s.list))
		x.cut(s, from, to, "zremrangebyrank")
	}
}

// cut takes members away.
func (x *call) cut(s *members, from, to int, event string) {
	if from < to {
		s.cloneOnce()
		s.list = slices.Delete(s.list, from, to)
		x.save(s, event)
	}
	x.count(max(0, to-from))
}

// ranged says which members are asked for.
type ranged struct {
	// any: words say how, as for ZRANGE.
	any               bool
	byScore, reversed bool
	withScores        bool
	limited           bool
	offset, limit     int64
}

func zrange(r ranged) func(x *call, w []string) {
	return func(x *call, w []string) {
		r := r
		if !x.rangeOptions(&r, w[4:]) {
			return
		}
		first, last := w[2], w[3]
		var low, high bound
		var ok bool
		if r.byScore {
			if r.reversed {
				first, last = last, first
			}
			low, high, ok = x.scores(first, last)
		} else {
			_, _, ok = x.span(first, last, 0)
		}
		if !ok {
			return
		}
		s, ok := x.openSorted(w[1])
		if !ok {
			return
		}
		found := slices.Clone(s.list)
		from, to := 0, 0
		if r.byScore {
			from, to = s.byScore(low, high)
			found = found[from:to]
		}
		if r.reversed {
			slices.Reverse(found)
		}
		if r.byScore {
			found = r.within(found)
		} else {
			from, to, _ = x.span(first, last, len(found))
			found = found[from:to]
		}
		x.scored(found, r.withScores)
	}
}

// within are those that LIMIT leaves.
func (r *ranged) within(list []model.Member) []model.Member {
	if !r.limited {
		return list
	}
	if r.offset < 0 || r.offset >= int64(len(list)) {
		return nil
	}
	list = list[r.offset:]
	if r.limit >= 0 && r.limit < int64(len(list)) {
		list = list[:r.limit]
	}
	return list
}

// scored answers members, with their scores where they are asked for.
func (x *call) scored(list []model.Member, withScores bool) {
	n := len(list)
	if withScores && !x.v3 {
		n *= 2
	}
	x.array(n)
	for _, m := range list {
		if withScores && x.v3 {
			x.array(2)
		}
		x.bulk(m.Name)
		if withScores {
			x.double(m.Score)
		}
	}
}

// readLimit reads the two numbers of LIMIT; where one is none, it answers so.
func (x *call) readLimit(r *ranged, offset, limit string) (ok bool) {
	if r.offset, ok = x.int(offset); ok {
		r.limit, ok = x.int(limit)
	}
	r.limited = ok
	return ok
}

// rangeOptions reads what follows a range; where it is wrong, it answers so.
func (x *call) rangeOptions(r *ranged, words []string) (ok bool) {
	byLex := false
	r.limit = -1
	for i := 0; i < len(words); i++ {
		switch option := strings.ToUpper(words[i]); {
		case option == "WITHSCORES":
			r.withScores = true
		case option == "LIMIT" && i+2 < len(words):
			if !x.readLimit(r, words[i+1], words[i+2]) {
				return false
			}
			i += 2
		case option == "REV" && r.any && !r.reversed:
			r.reversed = true
		case option == "BYSCORE" && r.any && !byLex && !r.byScore:
			r.byScore = true
		case option == "BYLEX" && r.any && !byLex && !r.byScore:
			byLex = true
		default:
			x.fail(errSyntax)
			return false
		}
	}
	switch {
	case r.limit != -1 && !r.byScore && !byLex:
		x.fail("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	case byLex:
		x.n.unknown("ZRANGE BYLEX")
		x.fail(errSyntax)
	default:
		return true
	}
	return false
}
