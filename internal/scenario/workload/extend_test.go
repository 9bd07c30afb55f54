package workload

import (
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// worker is a session in which time passes as the client sleeps, and the n-th extension is refused.
type worker struct {
	now     time.Duration
	refused int
	// innerRefused: an acquire inside a section is refused.
	innerRefused bool
	did          []string
	slept        []time.Duration
}

func (w *worker) Do(r Request) Answer {
	w.did = append(w.did, string(r.F))
	if r.F == history.Extend {
		if w.refused--; w.refused == 0 {
			return Answer{Type: history.Fail}
		}
	}
	if r.Inner && w.innerRefused {
		return Answer{Type: history.Fail}
	}
	return Answer{Type: history.OK}
}

func (w *worker) Now() time.Duration { return w.now }

func (w *worker) Sleep(d time.Duration) bool {
	w.now += d
	w.slept = append(w.slept, d)
	return true
}

func (w *worker) Point(string) {}
func (w *worker) Over() bool   { return false }

// TestExtendsWhileItWorks: a client extends its lock after each so long, not at the end of its work, and stops when that is refused.
func TestExtendsWhileItWorks(t *testing.T) {
	p := Plan{Kind: "increment", Sections: 1, Think: time.Second, Extend: 300 * time.Millisecond}
	for refused, want := range map[int][]string{
		0: {"acquire", "read", "extend", "extend", "extend", "write", "release"},
		2: {"acquire", "read", "extend", "extend", "release"},
	} {
		w := &worker{refused: refused}
		if err := p.Run(w); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.did, want) {
			t.Errorf("refused %d: it did %q, not %q", refused, w.did, want)
		}
		if refused == 0 && (w.now != p.Think || w.slept[3] != 100*time.Millisecond || p.Passes(BeforeExtend) != 3) {
			t.Errorf("it worked %v: %v; it is %d times before an extension", w.now, w.slept, p.Passes(BeforeExtend))
		}
	}
}

// TestAsksAgainWithoutReleasing: a client that leaves its lock held releases it after its last section alone.
func TestAsksAgainWithoutReleasing(t *testing.T) {
	p := Plan{Kind: "increment", Sections: 3, Leave: LeavesHeld}
	w := &worker{}
	if err := p.Run(w); err != nil {
		t.Fatal(err)
	}
	section := []string{"acquire", "read", "write"}
	if want := append(slices.Repeat(section, 3), "release"); !slices.Equal(w.did, want) {
		t.Errorf("it did %q, not %q", w.did, want)
	}
}

// TestAsksInsideItsSection: a client that gets the lock once more gives that one back, and works on; one that does not works on as well.
func TestAsksInsideItsSection(t *testing.T) {
	p := Plan{Kind: "increment", Sections: 1, Nested: true}
	for refused, want := range map[bool][]string{
		false: {"acquire", "acquire", "release", "read", "write", "release"},
		true:  {"acquire", "acquire", "read", "write", "release"},
	} {
		w := &worker{innerRefused: refused}
		if err := p.Run(w); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.did, want) {
			t.Errorf("refused %v: it did %q, not %q", refused, w.did, want)
		}
	}
	if p.Passes(BeforeAcquire) != 2 || p.Passes(BeforeRelease) != 2 || p.Passes(Acquired) != 1 {
		t.Error("it comes twice to the points before an acquire and before a release, once to the one after its grant")
	}
}

// TestForgets: a client that forgets its lock never releases it, and comes to no point of a release.
func TestForgets(t *testing.T) {
	p := Plan{Kind: "increment", Sections: 2, Leave: LeavesForgotten}
	w := &worker{}
	if err := p.Run(w); err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat([]string{"acquire", "read", "write", "forget"}, 2); !slices.Equal(w.did, want) {
		t.Errorf("it did %q, not %q", w.did, want)
	}
	if points := p.Points(); slices.Contains(points, BeforeRelease) || slices.Contains(points, Released) {
		t.Errorf("its points are %q", points)
	}
}
