package sample

import (
	"testing"
	"time"
)

func TestSample(t *testing.T) {
	for d, want := range map[int]bool{-1: false, 0: false, 1: true} {
		if got, _ := late(limit + time.Duration(d)); got != want {
			t.Errorf("%d: %v", d, got)
		}
	}
	b := &box{n: map[string]int32{}}
	if b.add("a") != -1 || !same(b, b) || same(b, &box{n: b.n}) || sum([]int{1, 2}) != 3 {
		t.Error("the box, or the sum")
	}
}
