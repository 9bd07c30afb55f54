package request

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shard is one of several machines that share work, the Index-th Of them, counted from 1. The zero value: there is one machine.
type Shard struct{ Index, Of int }

// MostShards bounds how many machines share work.
const MostShards = 1000

// ParseShard reads "2/4".
func ParseShard(text string) (Shard, error) {
	index, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return Shard{}, fmt.Errorf("%q: want i/n, as in 1/4", text)
	case n < 1 || n > MostShards:
		return Shard{}, fmt.Errorf("%q: want 1 to %d shards", text, MostShards)
	case i < 1 || i > n:
		return Shard{}, fmt.Errorf("%q: shards are counted from 1: want 1/%d to %d/%d", text, n, n, n)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// MarshalText writes it as a user does.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseShard.
func (s *Shard) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShard(string(text))
	return err
}

// Seeds are the shard's of so many, of which the first is given: where they begin, and how many they are. The shards have as many as each
// other, or one more.
func (s Shard) Seeds(first, count uint64) (own, n uint64) {
	each, longer, before := count/uint64(s.Of), count%uint64(s.Of), uint64(s.Index-1)
	own, n = first+before*each+min(before, longer), each
	if before < longer {
		n++
	}
	return own, n
}

// Deal says which pieces of work are the shard's, in their order, where lasts says about how long each takes. The longest
// are dealt first, each to the shard that has least to do.
func (s Shard) Deal(lasts []time.Duration) (mine []int) {
	order := make([]int, len(lasts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lasts[b], lasts[a]) })
	shards := make(hands, s.Of)
	for i := range shards {
		shards[i].index = i + 1
	}
	for _, i := range order {
		least := &shards[0]
		if least.index == s.Index {
			mine = append(mine, i)
		}
		least.lasts += lasts[i]
		least.pieces++
		heap.Fix(&shards, 0)
	}
	slices.Sort(mine)
	return mine
}

// hands are what the shards have been dealt; the one with least comes first.
type hands []struct {
	index, pieces int
	lasts         time.Duration
}

func (h hands) Len() int      { return len(h) }
func (h hands) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h hands) Push(any)      { panic("there are as many shards as there were") }
func (h hands) Pop() any      { panic("there are as many shards as there were") }

func (h hands) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(h[i].lasts, h[k].lasts), h[i].pieces-h[k].pieces, h[i].index-h[k].index) < 0
}
