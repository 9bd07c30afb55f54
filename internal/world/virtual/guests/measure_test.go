//go:build linux && amd64

package guests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"
	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestMeasurePrograms is for scripts/virtual-programs.sh: it makes runs of a lock program, each twice with one seed, and prints a row of a
// table. REDLOCK_SIM_MEASURE has the command, the scenario and how many seeds, one a line.
func TestMeasurePrograms(t *testing.T) {
	what := bytes.Split([]byte(os.Getenv("REDLOCK_SIM_MEASURE")), []byte("\n"))
	if len(what) != 3 {
		t.Skip("for scripts/virtual-programs.sh")
	}
	command, err := shellquote.Split(string(what[0]))
	seeds, err2 := strconv.ParseUint(string(what[2]), 10, 64)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	server := redis(t)
	s := scenarios(t, []string{string(what[1])})[0]
	own := standIn(t, command)
	var m measure
	began, cpu := time.Now(), processorTime(t)
	for _, v := range s.Variants {
		if why := own.NotApplicable(&v.Setup); why != "" {
			fmt.Printf("# %s, %s: %s\n", s.Name, v.Name, why)
			continue
		}
		a := &try{scenario: s.Name, variant: v.With(own), program: &own.Ready, options: Options{Server: server, Programs: true}}
		a.hooked = func(w world.World) world.World {
			if g, ok := w.(*guestWorld); ok {
				m.worlds = append(m.worlds, g)
			}
			return w
		}
		for a.seed = range seeds {
			m.twice(a)
		}
	}
	if m.runs == 0 {
		return
	}
	fmt.Printf("| %s | %s | %d | %d | %d | %.1f | %.1f | %d |\n", own.Ready.Name, s.Name, m.runs, m.different, m.unknown,
		float64(m.runs)/time.Since(began).Seconds(), float64(m.runs)/(processorTime(t)-cpu).Seconds(), m.calls/uint64(m.runs))
}

// standIn greets a lock program in real time.
func standIn(t testing.TB, command []string) *scenario.StandIn {
	t.Helper()
	p, err := program.Start(context.Background(), program.Options{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	own := &scenario.StandIn{Program: &lock.Program{Command: command}, Ready: p.Ready}
	own.Ready.AllClocks = true
	p.Close()
	return own
}

// measure counts what came of runs. Those that differ, and those that tell nothing, are told as comments.
type measure struct {
	runs, different, unknown int
	calls                    uint64
	worlds                   []*guestWorld
}

func (m *measure) twice(a *try) {
	histories := make([][]byte, 2)
	for i := range histories {
		m.runs++
		m.worlds = m.worlds[:0]
		var err error
		if _, histories[i], err = a.run(); err != nil {
			m.unknown++
			fmt.Printf("# %s, %s, seed %d: %v\n", a.scenario, a.variant.Name, a.seed, err)
		}
		for _, w := range m.worlds {
			m.calls += w.g.sup.Calls()
		}
	}
	if !bytes.Equal(histories[0], histories[1]) {
		m.different++
		fmt.Printf("# %s, %s, seed %d: %s\n", a.scenario, a.variant.Name, a.seed, difference(histories[0], histories[1]))
	}
}

// processorTime is that of this process and of those that have ended that it began.
func processorTime(t testing.TB) (all time.Duration) {
	t.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}
