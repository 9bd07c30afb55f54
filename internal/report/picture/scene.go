package picture

import (
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Span is a stretch of run time.
type Span struct{ From, To time.Duration }

// Overlaps reports whether the two spans share more than a point.
func (s Span) Overlaps(t Span) bool { return s.From < t.To && t.From < s.To }

// Touches reports whether the two spans share at least a point.
func (s Span) Touches(t Span) bool { return s.From <= t.To && t.From <= s.To }

// Length is how long the span lasts.
func (s Span) Length() time.Duration { return s.To - s.From }

// Scene is a run as a picture.
type Scene struct {
	// End is the time of the last event.
	End     time.Duration
	Clients []ClientLane
	Nodes   []NodeLane
	// Quorum are the stretches in which one owner had a majority of the nodes.
	Quorum []QuorumHold
	// Witnesses are what sentinels, or the nodes of a cluster, saw; Splits the stretches in which more than one node served as the primary.
	Witnesses []WitnessLane
	Splits    []Span
	// Effects are what the resource applied or refused, by time.
	Effects []Effect
	Bands   []Band
	// KeysSeen says whether the history observed the nodes' keys. Without
	// that, nobody knows what was true, and nothing is drawn as untrue.
	KeysSeen bool
	// Turns numbers the owners in the order in which they got their first key.
	Turns map[string]int
	// Majority is how many nodes make one.
	Majority int
	// Replicated: the clients see one node, the primary, and what is true is
	// what the primary has. Majority is 1 then. Or they see so many Redis Clusters, and what is true is what the primaries of a
	// majority of them have.
	Replicated bool
	Clusters   int
	// Refused is how many effects the resource refused, whether they were left out or not.
	Refused int
	// Odds are how many reruns violate a property; nil: none were made.
	Odds *Odds
	// Apart is the length with which BuildFor thinned; 0: it left nothing out.
	Apart time.Duration
}

// ClientLane is what one client did.
type ClientLane struct {
	Name  string
	Holds []Hold
	Marks []Mark
}

// Hold is a stretch in which a client believed to hold the lock.
type Hold struct {
	checker.Belief
	Span
	// Truth are the stretches in which a majority of nodes had the owner's
	// key; Gaps those of the hold in which they had not.
	Truth, Gaps []Span
	// Nodes is how many nodes granted.
	Nodes int
}

// Mark is an operation or a point in a client's lane.
type Mark struct {
	Span
	F    history.F
	Type history.Type
	// Text is a word or two: "r 0", "w 1", "asks".
	Text  string
	Event int
}

// NodeLane is what one node kept.
type NodeLane struct {
	Name string
	// Cluster is that of several to which it belongs; empty: there are not several.
	Cluster string
	Keys    []KeyHold
	// Down are the stretches in which the node was dead, Unclear those in which
	// nobody knew its key, Promoted the times at which it became the primary, Primary
	// those in which it served as such.
	Down     []Span
	Unclear  []Span
	Promoted []time.Duration
	Primary  []Span
	// Takes are those in which it carried out what the primary sent it, as the slot of the lock moved there.
	Takes []Span
}

// KeyHold is a stretch in which a node had an owner's key.
type KeyHold struct {
	Span
	Owner, Client string
	// Expired: it ran out, rather than being deleted or overwritten.
	Expired bool
	Event   int
}

// QuorumHold is a stretch in which one owner had a majority; Least and Most
// bound how many nodes that were.
type QuorumHold struct {
	Span
	Owner, Client string
	Least, Most   int
}

// Effect is something the resource applied or refused.
type Effect struct {
	At             time.Duration
	Client         string
	Op             history.F
	Accepted       bool
	Token, Highest history.Int
	Number         history.Int
	// Late: the client's promise had ended before it.
	Late  bool
	Event int
}

// Band is a fault while it lasted. Lanes are the clients and nodes it hit;
// none means all.
type Band struct {
	Span
	Open          bool
	ID            int
	Fault, Target string
	Detail        string
	Lanes         []string
	Planned       history.Int
	Event         int
}

// Build reads h. It never fails: whatever a history lacks is missing in the
// scene too.
func Build(h *history.History) *Scene { return BuildFor(h, Span{}, math.MaxInt) }

// BuildFor builds a scene that Thin will make fit for a view and a limit. Of a long run it does not keep all until
// then: what Thin leaves out first of a list that is longer than the limit is left out when nothing more depends on it.
func BuildFor(h *history.History, view Span, limit int) *Scene {
	s := &Scene{}
	if h == nil {
		return s
	}
	s.End = h.End()
	clients, nodes := casts(h)
	s.Majority = len(nodes)/2 + 1
	owners := OwnersOf(h)
	s.Nodes, s.KeysSeen = keyLanes(h, nodes, owners, s.End)
	s.Turns = turnsOf(s.Nodes)
	voters := s.Nodes
	if s.Replicated = len(nodes) > 0 && replicated(h, nodes); s.Replicated {
		s.joinClusters(h.Header.Clusters)
		s.Witnesses = witnessLanes(h, s.Nodes, s.End)
		leaders(h, s.Nodes, len(s.Witnesses) > 0, s.End)
		if len(s.Witnesses) > 0 {
			s.Splits = splits(s.Nodes)
		}
		s.Majority, voters = 1, led(s.Nodes)
		if s.Clusters > 0 {
			s.Majority, voters = s.Clusters/2+1, merged(voters)
		}
	}
	truth := majorities(voters, s.Majority)
	s.Quorum = quorumLane(truth, owners)
	s.thinLongest(view, limit)
	s.Clients = clientLanes(h, clients, truth, s)
	s.Effects = effects(h)
	s.markLate()
	parties := append(slices.Clone(clients), nodes...)
	for _, l := range s.Witnesses {
		parties = append(parties, l.Name)
	}
	s.Bands = bands(h, parties, s.End)
	s.thinLongest(view, limit)
	return s
}

// casts names the clients and nodes: the header's, and then whoever else the
// events speak of.
func casts(h *history.History) (clients, nodes []string) {
	clients, nodes = slices.Clone(h.Header.Clients), slices.Clone(h.Header.Nodes)
	acts, keeps := map[string]bool{}, map[string]bool{}
	for _, c := range clients {
		acts[c] = true
	}
	for _, n := range nodes {
		keeps[n] = true
	}
	for i := range h.Events {
		e := &h.Events[i]
		if p := e.Process; (e.IsOp() || e.F == history.Point) && !acts[p] {
			clients, acts[p] = append(clients, p), true
		} else if (isKeyEvent(e.F) || isNodeEvent(e.F)) && !keeps[p] {
			nodes, keeps[p] = append(nodes, p), true
		}
	}
	return clients, nodes
}

// OwnersOf says which client an owner's value belongs to: as the operations of
// clients tell, or a node that knows who set its key.
func OwnersOf(h *history.History) map[string]string {
	owners := map[string]string{}
	for i := range h.Events {
		e := &h.Events[i]
		client := e.Process
		switch {
		case e.Value.Owner == "":
			continue
		case e.F == history.KeySet:
			client = e.Value.Client
		case !e.IsOp():
			continue
		}
		if _, ok := owners[e.Value.Owner]; !ok && client != "" {
			owners[e.Value.Owner] = client
		}
	}
	return owners
}

func effects(h *history.History) []Effect {
	list := make([]Effect, 0, h.Count(history.Effect))
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.Effect {
			continue
		}
		at := e.Time
		if e.Value.At().IsSet() {
			at = time.Duration(e.Value.At().V())
		}
		list = append(list, Effect{
			At: at, Client: e.Value.Client, Op: e.Value.Op(), Accepted: !e.Value.Accepted().Set || e.Value.Accepted().V,
			Token: e.Value.Token, Highest: e.Value.Highest(), Number: e.Value.Number, Event: i,
		})
	}
	slices.SortStableFunc(list, func(a, b Effect) int { return int(a.At - b.At) })
	return list
}

// markLate marks the effects that came after the promise of the client's last grant before them, and counts the refused.
func (s *Scene) markLate() {
	holds := map[string][]Hold{}
	for i := range s.Clients {
		holds[s.Clients[i].Name] = s.Clients[i].Holds
	}
	for i := range s.Effects {
		f := &s.Effects[i]
		if !f.Accepted {
			s.Refused++
		}
		if f.Op == history.Read {
			continue
		}
		own := holds[f.Client]
		after, _ := slices.BinarySearchFunc(own, f.At, func(h Hold, t time.Duration) int {
			if h.From <= t {
				return -1
			}
			return 1
		})
		for _, h := range slices.Backward(own[:after]) {
			if n := len(h.Promises); n > 0 {
				f.Late = f.At > h.Promises[n-1].Until
				break
			}
		}
	}
}

// bands pairs the beginnings and ends of faults. A fault without an end lasts
// until the history's.
func bands(h *history.History, lanes []string, end time.Duration) []Band {
	type key struct {
		id            int
		fault, target string
	}
	named := func(e *history.Event) key { return key{e.Value.ID(), e.Value.Fault(), e.Value.Target()} }
	open := map[key]int{}
	var list []Band
	for i := range h.Events {
		e := &h.Events[i]
		switch e.F {
		case history.FaultBegin:
			open[named(e)] = len(list)
			list = append(list, Band{
				Span: Span{e.Time, end}, Open: true, ID: e.Value.ID(), Fault: e.Value.Fault(), Target: e.Value.Target(),
				Detail: e.Value.Detail(), Lanes: lanesHit(e, lanes), Planned: e.Value.Planned(), Event: i,
			})
		case history.FaultEnd:
			if at, ok := open[named(e)]; ok {
				list[at].To, list[at].Open = e.Time, false
				delete(open, named(e))
			}
		}
	}
	return list
}

// lanesHit says which lanes a fault strikes: those that its impact names, or else its
// target.
func lanesHit(e *history.Event, lanes []string) []string {
	struck := []string{e.Value.Target()}
	if e.Value.Impact() != nil {
		struck = nil
		for _, s := range e.Value.Impact().Effects {
			struck = append(append(struck, s.Clients...), s.Nodes...)
			for _, l := range s.Links {
				struck = append(struck, l.From, l.To)
			}
		}
	}
	var found []string
	for _, lane := range lanes {
		if slices.Contains(struck, lane) {
			found = append(found, lane)
		}
	}
	return found
}
