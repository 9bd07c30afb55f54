package scenario_test

import (
	"strings"
	"testing"
	"time"

	protocol "github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

const inTTLs = `name: x
guarantee: node-clock-jump
nodes: {count: 1}
lock: {algorithm: set-nx-px, ttl: 1500ms, node_timeout: 300ms}
workload: {think: 0.3ttl}
grant_within: 4ttl
faults:
  - {on: {client: c1, point: acquired}, pause: {client: c1, for: 2ttl}}
  - {at: 0.5ttl, clock: {node: A, jump: -1.25ttl}}
  - {after: {fault: 1, event: end, delay: 0.1ttl}, pause: {client: c2, for: 10ms}}
variants:
  short: {}
  long: {lock: {ttl: 4s}}
`

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// times are those of the scenario above: its ttl, think, grant_within, and those of its faults.
func times(s *scenario.Setup) []time.Duration {
	list := []time.Duration{s.Lock.TTL, s.Workload.Think, s.GrantWithin}
	for i := range s.Faults.List {
		f := &s.Faults.List[i]
		if f.At != nil {
			list = append(list, *f.At)
		}
		if f.After != nil {
			list = append(list, f.After.Delay)
		}
		list = append(list, f.Params.Length())
	}
	return list
}

func sameTimes(t *testing.T, what string, s *scenario.Setup, ms ...int) {
	t.Helper()
	got := times(s)
	for i, n := range ms {
		if len(got) != len(ms) || got[i] != time.Duration(n)*time.Millisecond {
			t.Errorf("%s: got %v, want %v ms", what, got, ms)
			return
		}
	}
}

// TestTimesInTTLs: a time in ttls follows the ttl of its variant.
func TestTimesInTTLs(t *testing.T) {
	s := parsed(t, inTTLs)
	sameTimes(t, "short", &s.Variants[0].Setup, 1500, 450, 6000, 3000, 750, 0, 150, 10)
	sameTimes(t, "long", &s.Variants[1].Setup, 4000, 1200, 16000, 8000, 2000, 0, 400, 10)
	for text, want := range map[string]string{
		"lock: {algorithm: redlock, ttl: 2ttl}":                                 `lock.ttl: want a duration such as 50ms, 1.5s or 2m, got "2ttl"`,
		"lock: {algorithm: redlock}\nworkload: {think: ttl}":                    `workload.think: want a duration such as`,
		"lock: {algorithm: redlock}\nworkload: {think: NaNttl}":                 `workload.think: want a duration such as`,
		"lock: {algorithm: redlock}\nworkload: {think: 5000ttl}":                `workload.think: want a duration such as`,
		"lock: {algorithm: redlock, ttl: 1m}\nworkload: {think: 100ttl}":        `workload.think: want at most 10m, got 100ttl`,
		"lock: {algorithm: redlock, ttl: 1x}\nworkload: {think: 2ttl}":          `lock.ttl: want a duration such as 50ms, 1.5s or 2m, got "1x"`,
		"lock: {algorithm: redlock, ttl: 5s}\nworkload: {think: 2ttl, busy: 1}": `workload.busy: want a duration with its unit, got "1"`,
	} {
		_, err := scenario.Parse("test.yaml", []byte("name: x\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "test.yaml:") > 1 {
			t.Errorf("%s: got %v, want %q alone", text, err, want)
		}
	}
}

// TestFittingTTL: where times are in ttls, a lock that cannot have the ttl gets the next one that it can have.
func TestFittingTTL(t *testing.T) {
	whole := &protocol.Ready{TTLMin: 1000, TTLStep: 1000}
	v := parsed(t, inTTLs).Variants[0]
	fitted := v.Fit(whole)
	sameTimes(t, "whole seconds", &fitted.Setup, 2000, 600, 8000, 4000, 1000, 0, 200, 10)
	if why := fitted.Setup.NotApplicable(whole); why != "" {
		t.Errorf("not applicable: %s", why)
	}
	sameTimes(t, "twice", &[]scenario.Variant{fitted.Fit(whole)}[0].Setup, 2000, 600, 8000, 4000, 1000, 0, 200, 10)
	slow := v.Fit(&protocol.Ready{TTLMin: 2500, TTLStep: 500})
	sameTimes(t, "a shortest ttl", &slow.Setup, 2500, 750, 10000, 5000, 1250, 0, 250, 10)
	same := v.Fit(&protocol.Ready{TTLMin: 1, TTLStep: 100})
	sameTimes(t, "any ttl", &same.Setup, 1500, 450, 6000, 3000, 750, 0, 150, 10)

	left, ok := scenario.Guarantee("node-clock-jump").Control(v)
	if !ok || len(left.Setup.Faults.List) != 2 {
		t.Fatalf("the control has %d faults", len(left.Setup.Faults.List))
	}
	left = left.Fit(whole)
	sameTimes(t, "without a fault", &left.Setup, 2000, 600, 8000, 4000, 200, 10)

	other := v
	other.Setup.Workload.Sections = 7
	other = other.Fit(whole)
	sameTimes(t, "changed otherwise", &other.Setup, 1500, 450, 6000, 3000, 750, 0, 150, 10)

	fixed := parsed(t, strings.NewReplacer("0.3ttl", "300ms", "4ttl", "4s", "2ttl", "2s", "0.5ttl", "1s", "-1.25ttl", "1s", "0.1ttl", "1s").
		Replace(inTTLs)).Variants[0]
	fixed = fixed.Fit(whole)
	if why := fixed.Setup.NotApplicable(whole); why != "the ttl is 1.5s, and its own are multiples of 1s" {
		t.Errorf("without times in ttls: %q", why)
	}
}
