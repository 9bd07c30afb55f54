package picture

import (
	"cmp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Operations reads a history of which nothing is known but its operations: a lane for each
// process, with a mark for each operation from its call to its answer. One whose outcome is
// unknown may take effect until the history ends. Read tells an event in words.
func Operations(h *history.History, read func(call, answer *history.Event) string) *Scene {
	s := &Scene{}
	type slot struct {
		process string
		f       history.F
	}
	type at struct{ lane, mark, call int }
	open, place := make(map[slot]at), make(map[string]int)
	for i := range h.Events {
		e := &h.Events[i]
		s.End = max(s.End, e.Time)
		k := slot{e.Process, e.F}
		if e.Type == history.Invoke {
			lane, ok := place[e.Process]
			if !ok {
				lane = len(s.Clients)
				place[e.Process] = lane
				s.Clients = append(s.Clients, ClientLane{Name: e.Process})
			}
			c := &s.Clients[lane]
			open[k] = at{lane, len(c.Marks), i}
			c.Marks = append(c.Marks, Mark{Span: Span{From: e.Time, To: -1}, F: e.F, Type: history.Info, Text: read(e, e), Event: i})
			continue
		}
		if a, ok := open[k]; ok {
			m := &s.Clients[a.lane].Marks[a.mark]
			m.Type, m.Text = e.Type, read(&h.Events[a.call], e)
			if e.Type != history.Info {
				m.To = e.Time
			}
			delete(open, k)
		}
	}
	for i := range s.Clients {
		for j := range s.Clients[i].Marks {
			if m := &s.Clients[i].Marks[j]; m.To < 0 {
				m.To = s.End
			}
		}
	}
	slices.SortStableFunc(s.Clients, func(a, b ClientLane) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name)) // 2 before 10
	})
	return s
}
