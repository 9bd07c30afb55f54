package clients

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// A client that says more than it may, or what makes no sense, ends its own conversation, and
// nothing else.
func TestClientCannotExhaustTheRun(t *testing.T) {
	point := `{"type":"` + string(client.AtPoint) + `","id":1,"point":"before-write"}` + "\n"
	ended, err := json.Marshal(client.Message{Type: client.Completed, Operation: "extend", Answer: &client.Answer{Type: history.OK}})
	if err != nil {
		t.Fatal(err)
	}
	began := `{"type":"` + string(client.Invoked) + `","id":1,"operation":"extend"}` + "\n"
	for name, c := range map[string]struct{ says, want string }{
		"points":                  {strings.Repeat(point, maxAtOnce+1), "more than 1000 points"},
		"operations":              {strings.Repeat(began, maxAtOnce+1), "more than 1000 operations"},
		"another operation":       {strings.ReplaceAll(began, "extend", "fault-begin"), `the operation "fault-begin" of its own`},
		"an end without a begin":  {string(ended) + "\n", "had not begun"},
		"an end without a result": {`{"type":"` + string(client.Completed) + `","operation":"extend"}` + "\n", "without a result"},
		"a long line":             {strings.Repeat("x", client.MaxMessage+1), "too long"},
		"no message":              {"[]\n", "no message"},
	} {
		var background sync.WaitGroup
		leave := make(chan struct{})
		recorded := 0
		p := &Process{name: "c1", childProcess: &childProcess{in: nopCloser{io.Discard}, out: io.NopCloser(nil),
			lines: bufio.NewScanner(strings.NewReader(c.says))}, waiting: map[uint64]chan client.Message{}, broken: make(chan struct{})}
		p.enc = json.NewEncoder(p.in)
		p.run = &Clients{Ctx: t.Context(), Time: &machine.RunTime{}, Background: &background,
			Record: func(history.Event) { recorded++ }, AtPoint: func(string, string) { <-leave }}
		p.lines.Buffer(nil, client.MaxMessage)
		suite.Returns(t, "the end of the conversation", p.Listen)
		close(leave)
		suite.Returns(t, "the end of what it began", background.Wait)
		if p.why == nil || !strings.Contains(p.why.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, p.why, c.want)
		}
		if recorded > maxAtOnce {
			t.Errorf("%s: %d events", name, recorded)
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
