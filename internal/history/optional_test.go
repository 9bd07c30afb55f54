package history_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func TestIntHoldsAllButTheLeast(t *testing.T) {
	for _, v := range []int64{math.MinInt64 + 1, -1, 0, 1, math.MaxInt64} {
		text, err := json.Marshal(history.Some(v))
		if err != nil {
			t.Fatal(err)
		}
		var n history.Int
		if err := json.Unmarshal(text, &n); err != nil || !n.IsSet() || n.V() != v || n.IsZero() {
			t.Errorf("%d was written as %s and read as %v, %v", v, text, n, err)
		}
	}
	if n := (history.Int{}); n.IsSet() || n.V() != 0 || !n.IsZero() || n.String() != "-" {
		t.Errorf("absent: %v, %d", n, n.V())
	}
	if n := history.Some(math.MinInt64); n.IsSet() {
		t.Errorf("the least integer is %v", n)
	}
	if err := json.Unmarshal([]byte("-9223372036854775808"), new(history.Int)); err == nil {
		t.Error("the least integer is read")
	}
}

func TestValueThatKnowsNothingIsLeftOut(t *testing.T) {
	for _, v := range []history.Value{{}, {Extra: &history.Extra{}, Rare: &history.Rare{}}} {
		e := history.Event{Process: "c1", Type: history.OK, F: history.Snapshot, Value: v}
		text, err := json.Marshal(&e)
		if want := `{"index":0,"type":"ok","time":0,"process":"c1","f":"snapshot"}`; err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
		var b bytes.Buffer
		if err := history.NewWriter(&b).WriteEvent(&e); err != nil || b.String() != string(text)+"\n" {
			t.Errorf("a Writer writes %s, %v", b.String(), err)
		}
	}
}
