package guests

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// changes are what happened to the key on node A, as words: "set x c1 10" is set by c1 to x at 10 ms; "-" is nobody.
func changes(t *testing.T, list ...string) *history.History {
	t.Helper()
	h := &history.History{}
	for _, text := range list {
		w := strings.Fields(text)
		at, err := time.ParseDuration(w[3] + "ms")
		if err != nil {
			t.Fatal(err)
		}
		e := history.Event{Process: "A", F: history.F(w[0]), Time: at, Value: history.Value{Key: "lock", Owner: w[1]}}
		if w[2] != "-" {
			e.Value.Client = w[2]
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// TestAlike: owners may have other names, and times be apart; nothing else may differ.
func TestAlike(t *testing.T) {
	const one = `{"index":0,"time":12345,"value":{"owner":"a"}}` + "\n" + `{"index":1,"time":20000,"value":{"owner":"b"}}` + "\n"
	for other, want := range map[string]struct {
		apart time.Duration
		alike bool
	}{
		one: {0, true},
		strings.NewReplacer(`"a"`, `"b"`, `"b"`, `"a"`).Replace(one):         {0, true},
		strings.NewReplacer("12345", "12340", "20000", "20009").Replace(one): {9, true},
		strings.Replace(one, `"b"`, `"b\"b"`, 1):                             {0, true},
		strings.Replace(one, `"b"`, `"a"`, 1):                                {0, false},
		strings.Replace(one, `"index":1`, `"index":2`, 1):                    {0, false},
		one + one: {0, false},
	} {
		apart, differs, err := Alike([]byte(one), []byte(other))
		if err != nil || (differs == nil) != want.alike || apart != want.apart {
			t.Errorf("%s: %v apart, differs: %v, %v", other, apart, differs, err)
		}
	}
}

func TestCompare(t *testing.T) {
	models := []string{"key-set x c1 10", "key-expired x - 20", "key-set y c2 30", "key-deleted y c2 40"}
	for name, test := range map[string]struct {
		servers []string
		differs bool
		changes int
		apart   time.Duration
	}{
		"the same": {models, false, 3, 0},
		"later": {[]string{"key-set x c1 10", "key-expired x - 25", "key-set y c2 33", "key-deleted y c2 41"},
			false, 3, 3 * time.Millisecond},
		"an expiry that nobody saw": {append([]string{"key-expired w - 5"}, models...), false, 3, 0},
		"deleted by the primary":    {[]string{"key-set x c1 10", "key-deleted x - 20", "key-set y c2 30", "key-deleted y c2 40"}, false, 3, 0},
		"another order":             {[]string{"key-set y c2 10", "key-expired y - 20", "key-set x c1 30", "key-deleted x c1 40"}, true, 0, 0},
		"another client":            {[]string{"key-set x c2 10"}, true, 0, 0},
		"one less":                  {models[:3], true, 2, 0},
		"one more":                  {append(append([]string{}, models...), "key-set z c1 50"), true, 3, 0},
	} {
		got := Compare(changes(t, models...), changes(t, test.servers...))
		if (got.Differs != "") != test.differs || got.Changes != test.changes || got.Apart != test.apart {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCompareElections: who sentinels elect is drawn, so changes are not compared.
func TestCompareElections(t *testing.T) {
	elected := changes(t, "key-set x c1 10")
	elected.Events = append(elected.Events, history.ToldBySentinel("s1", "+switch-master", "B", 1))
	quiet := changes(t, "key-set x c2 10")
	for _, got := range []Agreement{Compare(elected, quiet), Compare(quiet, elected)} {
		if !got.Elected || got.Differs != "" {
			t.Errorf("%+v", got)
		}
	}
}
