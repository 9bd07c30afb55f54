package engine

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// measured is the property that is measured where none is named: the last that the workload demands, or else that the scenario expects.
func measured(v *scenario.Variant) checker.Property {
	if list := v.Setup.Demanded(); len(list) > 0 {
		return list[len(list)-1]
	}
	if n := len(v.Expect); n > 0 {
		return v.Expect[n-1].Property
	}
	return checker.LinearizableResource
}

// axes proposes what to measure: the ttl, and how long the first fault lasts that has a length, if there is one. A range is taken only
// where there can be runs with most of its values: a lock with slow nodes refuses a short ttl, and one of a single node has no others.
func axes(s *scenario.Scenario, v *scenario.Variant, steps int) (x, y string) {
	setup := &v.Setup
	work := func(x, y string) bool {
		sweep := explore.Sweep{Scenario: s, Variant: v.Name}
		var err error
		if sweep.X, err = explore.ParseAxis(x, steps); err == nil && y != "" {
			sweep.Y, err = explore.ParseAxis(y, steps)
		}
		if err != nil {
			return false
		}
		points, err := sweep.Grid()
		some := 0
		for i := range points {
			if points[i].Wrong == "" {
				some++
			}
		}
		return err == nil && 3*some > 2*len(points)
	}
	const think = "workload.think=50ms..5s"
	x = think
	ttl := setup.Lock.TTL
	for _, r := range []string{"100ms..10s", fmt.Sprintf("%v..%v", ttl/2, 4*ttl), fmt.Sprintf("%v..%v", ttl, 8*ttl)} {
		if axis := "lock.ttl=" + r; work(axis, "") {
			x = axis
			break
		}
	}
	var rows []string
	for i := range setup.Faults.List {
		if f := &setup.Faults.List[i]; f.Params.Length() > 0 && f.Until == nil {
			rows = append(rows, "faults."+f.Kind+"=50ms..5s")
			break
		}
	}
	if setup.Workload.Think > 0 && x != think {
		rows = append(rows, think)
	}
	for _, y := range append(rows, "nodes.count=1,3,5") {
		if work(x, y) {
			return x, y
		}
	}
	return x, ""
}
