package picture

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// SentinelLane is what one sentinel saw and did.
type SentinelLane struct {
	Name string
	// Sees are the stretches in which it took a node for the primary.
	Sees []Sight
	// Tilt are the stretches in which it trusted its own clock no more, and did nothing.
	Tilt []Span
	// Deeds are what else it told that matters for who becomes the primary.
	Deeds []Deed
}

// Sight is a stretch in which a sentinel took a node for the primary.
type Sight struct {
	Span
	Primary string
	// Event is the one with which it began; -1: the run did.
	Event int
}

// Deed is something that a sentinel told, in Redis' word.
type Deed struct {
	At          time.Duration
	Word, About string
	Epoch       history.Int
	Event       int
}

// maxSentinels bounds how many sentinels are drawn.
const maxSentinels = 9

// sentinelLanes reads what sentinels told; no lanes: there were none, or none told anything.
func sentinelLanes(h *history.History, first string, end time.Duration) []SentinelLane {
	var lanes []SentinelLane
	find := func(name string) *SentinelLane {
		i := slices.IndexFunc(lanes, func(l SentinelLane) bool { return l.Name == name })
		if i < 0 && len(lanes) == maxSentinels {
			return nil
		}
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, SentinelLane{Name: name, Sees: []Sight{{Span: Span{0, end}, Primary: first, Event: -1}}})
		}
		return &lanes[i]
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.Sentinel {
			continue
		}
		l := find(e.Process)
		if l == nil {
			continue
		}
		switch word := e.Value.Detail(); {
		case word == "+switch-master":
			l.Sees[len(l.Sees)-1].To = e.Time
			l.Sees = append(l.Sees, Sight{Span: Span{e.Time, end}, Primary: e.Value.Target(), Event: i})
		case word == "+tilt":
			l.Tilt = append(l.Tilt, Span{e.Time, end})
		case word == "-tilt" && len(l.Tilt) > 0:
			l.Tilt[len(l.Tilt)-1].To = e.Time
		case decides(word):
			l.Deeds = append(l.Deeds, Deed{At: e.Time, Word: word, About: e.Value.Target(), Epoch: e.Value.Epoch(), Event: i})
		}
	}
	slices.SortFunc(lanes, func(a, b SentinelLane) int { return strings.Compare(a.Name, b.Name) })
	return lanes
}

// decides reports that a word is about who becomes the primary.
func decides(word string) bool {
	switch word {
	case "+sdown", "-sdown", "+odown", "-odown", "+vote-for-leader", "+elected-leader", "+promoted-slave", "+convert-to-slave":
		return true
	}
	return strings.HasPrefix(word, "-failover-abort")
}

// leaders fills in when each node served as the primary: the first one does from the start, any other from its promotion on.
// Without sentinels a promotion ends what another one's was; with them only its own demotion does, or its death.
func leaders(h *history.History, lanes []NodeLane, watched bool, end time.Duration) {
	stop := func(n *NodeLane, at time.Duration) bool {
		last := len(n.Primary) - 1
		if last < 0 || n.Primary[last].To < end {
			return false
		}
		n.Primary[last].To = at
		return true
	}
	died := make(map[string]bool) // as the primary
	if len(lanes) > 0 {
		lanes[0].Primary = []Span{{0, end}}
	}
	for i := range h.Events {
		e := &h.Events[i]
		at := slices.IndexFunc(lanes, func(l NodeLane) bool { return l.Name == e.Process })
		if at < 0 {
			continue
		}
		n := &lanes[at]
		switch e.F {
		case history.NodePromoted:
			for j := range lanes {
				if !watched && j != at {
					stop(&lanes[j], e.Time)
					died[lanes[j].Name] = false
				}
			}
			if last := len(n.Primary) - 1; last < 0 || n.Primary[last].To < end {
				n.Primary = append(n.Primary, Span{e.Time, end})
			}
		case history.NodeDemoted:
			stop(n, e.Time)
		case history.NodeDown:
			died[n.Name] = stop(n, e.Time)
		case history.NodeUp:
			if died[n.Name] {
				n.Primary = append(n.Primary, Span{e.Time, end})
				died[n.Name] = false
			}
		}
	}
}

// splits are the stretches in which more than one node served as the primary.
func splits(lanes []NodeLane) []Span {
	var turns, list []Span
	for i := range lanes {
		turns = append(turns, lanes[i].Primary...)
	}
	slices.SortFunc(turns, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	reach := Span{}
	for _, t := range turns {
		if both := (Span{t.From, min(t.To, reach.To)}); t.Overlaps(reach) {
			if n := len(list); n > 0 && list[n-1].Touches(both) {
				list[n-1].To = max(list[n-1].To, both.To)
			} else {
				list = append(list, both)
			}
		}
		reach.To = max(reach.To, t.To)
	}
	return list
}
