package evidence

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/edn"
)

// TestExportedHistoriesJudgeTheSame: a history of our own, written as EDN and
// read again, gets the verdict that it had.
func TestExportedHistoriesJudgeTheSame(t *testing.T) {
	owner := func(o string, until int64) history.Value {
		return history.Value{Owner: o, Grant: &history.Grant{ValidUntil: history.Some(until * 1e6)}, Token: history.Some(until)}
	}
	text := jsonl(t, history.Header{Clients: []string{"c1", "c2"}},
		event(0, "c1", history.Invoke, history.Acquire, history.Value{}),
		event(1, "c1", history.OK, history.Acquire, owner("a", 5)),
		event(2, "A", history.Info, history.KeySet, history.Value{Key: "lock"}),
		event(6, "c2", history.Invoke, history.Acquire, history.Value{}),
		event(7, "c2", history.OK, history.Acquire, owner("b", 90)),
		event(8, "c2", history.Invoke, history.Release, history.Value{}),
		event(9, "c2", history.Info, history.Release, history.Value{}),
		event(70, "c1", history.Invoke, history.Release, history.Value{}),
		event(71, "c1", history.OK, history.Release, history.Value{}))
	h, format, err := FromHistory(strings.NewReader(text), Auto, 0)
	if err != nil || format != JSONL || len(h.Events) != 9 {
		t.Fatalf("%v, %v", format, err)
	}
	var b bytes.Buffer
	if err := edn.Write(&b, h); err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]checker.Verdict{"owner-mutex": checker.Violated,
		"leased-mutex": checker.Holds, "fenced-mutex": checker.Violated} {
		for name, s := range map[string]string{"jsonl": text, "edn": b.String()} {
			r, err := Check(context.Background(), strings.NewReader(s), Options{Model: model})
			if err != nil || r.Verdict != want || string(r.Format) != name {
				t.Errorf("%s as %s: %+v, %v", model, name, r, err)
			}
		}
	}
}
