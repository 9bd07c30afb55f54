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
	// Drawn is what servers draw for themselves in such a run; empty: nothing. Where it let the changes differ, they were not compared:
	// there are none.
	Drawn string
}

// What servers draw for themselves.
const (
	drawsElected = "whom sentinels elect"
	drawsAgain   = "when a replica connects again"
)

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

// Compare compares what happened to the lock's keys on models and on real servers; replicated: some of these follow another. A server
// removes a key that has run out some time after that, a model when somebody asks for it: so the times of that are not compared, and the
// model may not have come to it.
func Compare(models, servers *history.History, replicated bool) (a Agreement) {
	if replicated {
		for _, h := range []*history.History{models, servers} {
			if what := whatIsDrawn(h); what != "" && a.Drawn != drawsElected {
				a.Drawn = what
			}
		}
	}
	nodes, want := changesOf(models)
	more, got := changesOf(servers)
	for _, node := range more {
		if want[node] == nil {
			nodes = append(nodes, node)
		}
	}
	for _, node := range nodes {
		differs := a.compare(node, changed{want[node], endOf(models), replicated}, changed{got[node], endOf(servers), replicated})
		if differs != "" && a.Differs == "" {
			a.Differs = differs
		}
	}
	if a.Drawn != "" && a.Differs != "" {
		return Agreement{Drawn: a.Drawn}
	}
	return a
}

// whatIsDrawn is what servers drew for themselves in a run.
func whatIsDrawn(h *history.History) (what string) {
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.F == history.Sentinel && e.Value.Detail() == sentinel.ElectedLeader:
			return drawsElected
		case e.F == history.FaultBegin:
			if partsServers(e.Value.Impact(), h.Header.Nodes) {
				what = drawsAgain
			}
		}
	}
	return what
}

// partsServers reports that a fault may end a connection by which one of the nodes follows another.
func partsServers(i *history.Impact, nodes []string) bool {
	if i == nil {
		return true
	}
	between := func(l history.Link) bool { return slices.Contains(nodes, l.From) && slices.Contains(nodes, l.To) }
	return slices.ContainsFunc(i.Effects, func(s history.Strike) bool {
		switch s.Does {
		case history.Kills:
			return len(s.Nodes) > 0
		case history.Breaks, history.Drops, history.Silences:
			return slices.ContainsFunc(s.Links, between)
		}
		return false
	})
}

// changed is what happened on a node, and when its run was over. replicated: it may have come from the node's primary.
type changed struct {
	list       []change
	end        time.Duration
	replicated bool
}

func endOf(h *history.History) time.Duration {
	if len(h.Events) == 0 {
		return 0
	}
	return h.Events[len(h.Events)-1].Time
}

// underWay is for how long nobody may see what a primary sends: it is under way, or a replica has copied its data, and its journal begins
// anew at its next look at its children, of which there are ten a second.
const underWay = 110 * time.Millisecond

// restCame reports that all of the rest came from the node's primary, as the run ended.
func (c *changed) restCame() bool {
	return c.replicated &&
		!slices.ContainsFunc(c.list, func(x change) bool { return x.client != "" || x.key == "" || x.at < c.end-underWay })
}

// ranOut reports that a key ended by no client: it ran out, and who follows a primary deletes it when that does.
func (c *change) ranOut() bool {
	return c.f == history.KeyExpired || c.f == history.KeyDeleted && c.client == ""
}

// gaveWay reports that a primary sent the end of a key, which is the first change, and set the key anew: a server sends its replicas both
// as one, and a replica that copies its data tells of what it has then.
func (c *changed) gaveWay() bool {
	if !c.replicated || len(c.list) < 2 {
		return false
	}
	ended, set := &c.list[0], &c.list[1]
	return ended.ranOut() && set.f == history.KeySet && set.client == "" && set.key == ended.key && set.at <= ended.at+underWay
}

func (a *Agreement) compare(node string, want, got changed) (differs string) {
	for len(got.list) > 0 {
		g := &got.list[0]
		var w *change
		if len(want.list) > 0 {
			w = &want.list[0]
		}
		same := w != nil && (w.f == g.f || w.ranOut() && g.ranOut()) && w.key == g.key && w.owner == g.owner && w.client == g.client
		switch {
		case same && (g.f == history.KeyExpired || w.f == history.KeyExpired):
		case same:
			a.count(node, g, w)
		case g.f == history.KeyExpired:
			got.list = got.list[1:]
			continue
		case g.f == history.KeySet && want.gaveWay():
			want.list = want.list[1:]
			continue
		case w != nil && w.f == history.KeySet && got.gaveWay():
			got.list = got.list[1:]
			continue
		case want.restCame() && got.restCame():
			return ""
		case w == nil:
			return fmt.Sprintf("%s: %v, and nothing more on a model", node, g)
		default:
			return fmt.Sprintf("%s: %v, and %v on a model", node, g, w)
		}
		got.list, want.list = got.list[1:], want.list[1:]
	}
	if len(want.list) > 0 && !want.restCame() {
		return fmt.Sprintf("%s: nothing more, and %v on a model", node, &want.list[0])
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
