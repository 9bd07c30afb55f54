package guests

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
)

var (
	owners = regexp.MustCompile(`"owner":"(?:[^"\\]|\\.)*"`)
	times  = regexp.MustCompile(`\d{4,}`)
)

// numberOwners numbers the owners of a history, in the order in which they come.
func numberOwners(h []byte) []byte {
	numbers := make(map[string]int)
	return owners.ReplaceAllFunc(h, func(owner []byte) []byte {
		n, known := numbers[string(owner)]
		if !known {
			n = len(numbers)
			numbers[string(owner)] = n
		}
		return fmt.Appendf(nil, `"owner":%d`, n)
	})
}

// Alike compares two histories, as they were written, but for what the owners are called. It says where they differ first; if nothing but
// times does, by how much those are apart at most.
func Alike(one, other []byte) (apart time.Duration, differs *history.Difference, err error) {
	one, other = numberOwners(one), numberOwners(other)
	if none := []byte("0000"); !bytes.Equal(times.ReplaceAll(one, none), times.ReplaceAll(other, none)) {
		differs, err = history.FirstDifference(bytes.NewReader(one), bytes.NewReader(other))
		return 0, differs, err
	}
	a, b := times.FindAll(one, -1), times.FindAll(other, -1)
	for i := range a {
		x, _ := strconv.ParseInt(string(a[i]), 10, 64)
		y, _ := strconv.ParseInt(string(b[i]), 10, 64)
		apart = max(apart, time.Duration(x-y), time.Duration(y-x))
	}
	return apart, nil, nil
}

// Agreement is how a run on real servers compares with the same run on models.
type Agreement struct {
	// Differs is the first difference in what happened to keys, on some node; empty: the same changes came in the same order on each.
	Differs string
	// Changes is how many changes both have, Apart by how much the times of one of them differ at most, and Where that is.
	Changes int
	Apart   time.Duration
	Where   string
	// Elected: sentinels have made a server the primary in one of the two. They draw who is, so changes were not compared.
	Elected bool
}

// change is what happened to a key of the lock on a node, or to the node.
type change struct {
	f                  history.F
	key, owner, client string
	at                 time.Duration
}

func (c *change) String() string {
	text := string(c.f)
	if c.key != "" {
		text += fmt.Sprintf(" %s %q", c.key, c.owner)
	}
	if c.client != "" {
		text += " of " + c.client
	}
	return fmt.Sprintf("%s at %.6f s", text, c.at.Seconds())
}

// changesOf are the changes of each node, in their order.
func changesOf(h *history.History) (nodes []string, of map[string][]change) {
	of = make(map[string][]change)
	for i := range h.Events {
		e := &h.Events[i]
		switch e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear,
			history.NodeDown, history.NodeUp, history.NodePromoted:
			if of[e.Process] == nil {
				nodes = append(nodes, e.Process)
			}
			of[e.Process] = append(of[e.Process], change{e.F, e.Value.Key, e.Value.Owner, e.Value.Client, e.Time})
		}
	}
	return nodes, of
}

// Compare compares what happened to the lock's keys on models and on real servers. A server removes a key that has run out some time
// after that, a model when somebody asks for it: so the times of that are not compared, and the model may not have come to it.
func Compare(models, servers *history.History) (a Agreement) {
	if a.Elected = elects(models) || elects(servers); a.Elected {
		return a
	}
	nodes, want := changesOf(models)
	more, got := changesOf(servers)
	for _, node := range more {
		if want[node] == nil {
			nodes = append(nodes, node)
		}
	}
	for _, node := range nodes {
		if differs := a.compare(node, want[node], got[node]); differs != "" && a.Differs == "" {
			a.Differs = differs
		}
	}
	return a
}

// elects reports that sentinels made a server the primary.
func elects(h *history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.F == history.Sentinel && e.Value.Detail() == sentinel.SwitchMaster
	})
}

// ranOut reports that a key ended by no client: it ran out, and who follows a primary deletes it when that does.
func (c *change) ranOut() bool {
	return c.f == history.KeyExpired || c.f == history.KeyDeleted && c.client == ""
}

func (a *Agreement) compare(node string, want, got []change) (differs string) {
	for len(got) > 0 {
		g := &got[0]
		got = got[1:]
		same := len(want) > 0 && (want[0].f == g.f || want[0].ranOut() && g.ranOut()) &&
			want[0].key == g.key && want[0].owner == g.owner && want[0].client == g.client
		switch {
		case same && (g.f == history.KeyExpired || want[0].f == history.KeyExpired):
		case same:
			a.count(node, g, &want[0])
		case g.f == history.KeyExpired:
			continue
		case len(want) == 0:
			return fmt.Sprintf("%s: %v, and nothing more on a model", node, g)
		default:
			return fmt.Sprintf("%s: %v, and %v on a model", node, g, &want[0])
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return fmt.Sprintf("%s: nothing more, and %v on a model", node, &want[0])
	}
	return ""
}

// count takes note of a change that both have.
func (a *Agreement) count(node string, g, w *change) {
	a.Changes++
	if apart := max(g.at-w.at, w.at-g.at); apart > a.Apart {
		a.Apart, a.Where = apart, fmt.Sprintf("%s: %v, and %v on a model", node, g, w)
	}
}
