package main

import (
	"bytes"
	"testing"
	"time"
)

// What has ended says how long all of it takes, the more the more has ended. It is told where that is far from what was said last.
func TestEstimatesAreCorrected(t *testing.T) {
	var said bytes.Buffer
	p := &progress{app: &cli{stderr: &said}, total: 96, first: 12 * time.Second, about: 12 * time.Second}
	for p.ended = 1; p.ended <= p.total; p.ended++ {
		p.correct(time.Duration(p.ended) * 130 * time.Second / 96)
	}
	if want := "96 runs: rather about 20s\n96 runs: rather about 35s\n" +
		"96 runs: rather about 55s\n96 runs: rather about 1m30s\n96 runs: rather about 2m10s\n"; said.String() != want {
		t.Errorf("%q, want %q", &said, want)
	}
	if p.about < 110*time.Second || p.about > 150*time.Second {
		t.Errorf("at last it is about %v, and was 130 s", p.about)
	}
	p.first, p.ended = 0, 1
	p.correct(time.Hour)
	if p.about > time.Hour/2 {
		t.Error("it is estimated anew, and was not known at all")
	}
}
