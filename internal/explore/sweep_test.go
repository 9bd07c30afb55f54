package explore

import (
	"context"
	"reflect"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

func TestParseAxis(t *testing.T) {
	for _, test := range []struct {
		text string
		want Axis
	}{
		{"lock.ttl=1s..3s", Axis{"lock.ttl", []string{"1s", "2s", "3s"}}},
		{"lock.ttl=100ms..10s", Axis{"lock.ttl", []string{"100ms", "1s", "10s"}}},
		{"faults.pause=exp(mean=1s..2s)", Axis{"faults.pause", []string{"exp(mean=1s)", "exp(mean=1.5s)", "exp(mean=2s)"}}},
		{"nodes.count=1,3", Axis{"nodes.count", []string{"1", "3"}}},
	} {
		if got, err := ParseAxis(test.text, 3); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v", test.text, got, err)
		}
	}
	for _, bad := range []string{"", "lock.ttl", "=1s..2s", "lock.ttl=2s..1s", "lock.ttl=0s..1s"} {
		if a, err := ParseAxis(bad, 3); err == nil {
			t.Errorf("%q was taken: %+v", bad, a)
		}
	}
}

// TestSweepIsRepeatable: with however many workers, the rates are the same.
func TestSweepIsRepeatable(t *testing.T) {
	s := Sweep{Scenario: parse(t, head+"faults:\n  - on: {client: c1, point: before-write}\n    pause: {client: c1, for: 1s}\n"),
		Variant: "default", Runs: 30, Properties: []checker.Property{checker.NoLateEffect}}
	s.X, _ = ParseAxis("faults.pause=exp(mean=100ms..1s)", 3)
	s.Y, _ = ParseAxis("lock.ttl=200ms,500ms", 0)
	one, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = 4
	four, err := s.Run(context.Background())
	if err != nil || !reflect.DeepEqual(one, four) {
		t.Errorf("%v\n%+v\n%+v", err, one, four)
	}
	if len(one) != 6 || one[0].Violated[0] >= one[2].Violated[0] || one[2].Violated[0] <= one[5].Violated[0] {
		t.Errorf("longer pauses and shorter leases should hurt more: %+v", one)
	}
}
