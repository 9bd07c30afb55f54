package request

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestParseShard(t *testing.T) {
	for _, text := range []string{"1/1", "2/4", "1000/1000"} {
		s, err := ParseShard(text)
		if err != nil || s.String() != text {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "1", "/", "0/3",
		"4/3", "-1/3", "1/0", "1/1001", "a/b", "1/2/3", " 1/2", "1.5/2", "99999999999999999999/2"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
}

// TestDealt: every piece of work is dealt to one shard, and no shard has much more to do than another.
func TestDealt(t *testing.T) {
	for i := range suite.Amount(t, 300, 50) {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		of := 1 + r.IntN(12)
		lasts := make([]time.Duration, r.IntN(100))
		longest := time.Duration(0)
		for i := range lasts {
			lasts[i] = time.Duration(r.IntN(50)) * time.Millisecond
			longest = max(longest, lasts[i])
		}
		var all []int
		var sums []time.Duration
		for index := 1; index <= of; index++ {
			mine := Shard{index, of}.Deal(lasts)
			if !slices.IsSorted(mine) {
				t.Fatalf("shard %d does its work in another order: %v", index, mine)
			}
			var sum time.Duration
			for _, unit := range mine {
				sum += lasts[unit]
			}
			all, sums = append(all, mine...), append(sums, sum)
		}
		slices.Sort(all)
		for i, unit := range all {
			if i != unit || len(all) != len(lasts) {
				t.Fatalf("%d pieces of work of %d were dealt: %v", len(all), len(lasts), all)
			}
		}
		if gap := slices.Max(sums) - slices.Min(sums); gap > longest {
			t.Errorf("one shard works %v longer than another; the longest piece takes %v", gap, longest)
		}
	}
	// Pieces that take no time are dealt, too.
	if mine := (Shard{2, 2}).Deal(make([]time.Duration, 4)); len(mine) != 2 {
		t.Errorf("of four pieces the second of two shards has %v", mine)
	}
}

// TestSeeds: the ranges of all shards are those of one machine, and differ by one at most.
func TestSeeds(t *testing.T) {
	for _, c := range []struct{ first, count uint64 }{{0, 0}, {5, 1}, {7, 100}, {0, math.MaxUint64}, {math.MaxUint64 - 9, 10}, {3, 1001}} {
		for _, of := range []int{1, 2, 3, 7, 1000} {
			next, each := c.first, c.count/uint64(of)
			for index := 1; index <= of; index++ {
				own, n := Shard{index, of}.Seeds(c.first, c.count)
				if n > 0 && own != next || n-each > 1 {
					t.Fatalf("%d from %d: shard %d of %d has %d from %d, want them from %d", c.count, c.first, index, of, n, own, next)
				}
				next += n
			}
			if next-c.first != c.count {
				t.Errorf("%d from %d: %d were dealt to %d shards", c.count, c.first, next-c.first, of)
			}
		}
	}
}
