// Package sample is what the test of the mutants changes.
package sample

import "time"

const limit = 2 * time.Second // a constant stays as it is

type box struct{ n map[string]int32 }

// late is tested at its edge, and how late it says is not.
func late(d time.Duration) (bool, time.Duration) {
	return d > limit, d - limit
}

func (b *box) add(key string) int32 {
	b.n[key]++
	return -b.n[key]
}

func same(a, b *box) bool { return a == b && len(a.n)+1 == len(b.n)+1 }

// sum panics where its step is turned round.
func sum(list []int) (n int) {
	for i := 0; i < len(list); i++ {
		n += list[i]
	}
	return n
}
