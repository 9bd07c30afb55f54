package client

import (
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// warming answers an acquire, and then a release.
type warming struct {
	answers []history.Type
	asked   []history.F
}

func (w *warming) Do(q Request) Answer {
	w.asked = append(w.asked, q.F)
	return Answer{Type: w.answers[len(w.asked)-1], Error: "why"}
}

// TestWarmUp: a client gives back what it was granted. That it was refused makes no difference; what is not known does.
func TestWarmUp(t *testing.T) {
	for _, c := range []struct {
		answers []history.Type
		fails   bool
	}{
		{[]history.Type{history.OK, history.OK}, false},
		{[]history.Type{history.OK, history.Fail}, false},
		{[]history.Type{history.Fail}, false},
		{[]history.Type{history.Info}, true},
		{[]history.Type{history.OK, history.Info}, true},
	} {
		w := &warming{answers: c.answers}
		if err := WarmUp("c1", w); (err != nil) != c.fails {
			t.Errorf("%v: %v", c.answers, err)
		}
		if want := []history.F{history.Acquire, history.Release}[:len(c.answers)]; !slices.Equal(w.asked, want) {
			t.Errorf("%v: it asked for %v", c.answers, w.asked)
		}
	}
}
