package picture

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// overlaps boxes the stretch over all clients and writes its length on top.
func (e *easel) overlaps(list []Overlap, top, bottom int) {
	for i, o := range list {
		row := top + i*overlapHeight
		box := bar("overlap", o.Span, row, bottom-row)
		box.Title = o.Words
		if i > 0 {
			box.Class = "overlap second"
		}
		box.inside("overlap-words", rankOverlap, []int{row + 15}, o.Words).Outside = []string{o.Words, words.Length(o.Length())}
		e.behind.Shapes = append(e.behind.Shapes, box)
	}
}

// nodeRow is the baseline of text in a node's lane.
const nodeRow = 13

// clusterGap is between the nodes of different clusters.
const clusterGap = 6

// nodes draws who had the majority, and then what each node kept.
func (e *easel) nodes() {
	if len(e.scene.Nodes) == 0 {
		return
	}
	e.y += groupGap
	if e.scene.KeysSeen {
		e.quorum()
	}
	e.pic.Led, e.pic.Watched = e.scene.Replicated, len(e.scene.Witnesses) > 0
	splitY := e.y
	if len(e.scene.Splits) > 0 {
		e.y += overlapHeight
	}
	var before string
	for i := range e.scene.Nodes {
		n := &e.scene.Nodes[i]
		l := lane{Kind: "node", Name: n.Name, H: nodeHeight}
		if i > 0 && n.Cluster != e.scene.Nodes[i-1].Cluster {
			e.y += clusterGap
		}
		if firstBeside(e.scene.Nodes, n.Name) == i && n.Cluster != "" {
			l.Subs = []sub{{nodeRow, n.Cluster}}
		}
		e.bands(&l, nodeRow)
		lives(&l, n)
		bands := len(l.Shapes)
		pattern := ""
		for _, k := range n.Keys {
			pattern += k.Owner + "\x00"
			e.key(&l, &k)
		}
		l.Quiet = bands == 0 && (len(n.Keys) == 0 || pattern == before)
		before = pattern
		e.add(l)
	}
	for i := range e.scene.Witnesses {
		n := &e.scene.Witnesses[i]
		e.witness(n, i > 0 && n.OfCluster && n.tellsAs(&e.scene.Witnesses[i-1]))
	}
	for _, s := range e.scene.Splits {
		box := bar("overlap split", s, splitY, e.y-splitY)
		box.Title = e.scene.splitWords(s)
		box.inside("overlap-words", rankOverlap, []int{splitY + 15}, box.Title).Outside = []string{box.Title, words.Length(s.Length())}
		e.behind.Shapes = append(e.behind.Shapes, box)
	}
}

// splitWords say that two nodes served as the primary at once.
func (s *Scene) splitWords(split Span) string {
	of := ""
	if s.Clusters > 0 {
		of = "of one cluster "
	}
	return "two primaries " + of + "at once, " + words.Length(split.Length())
}

// witness draws whom a witness took for the primary, and what it did about that.
func (e *easel) witness(n *WitnessLane, quiet bool) {
	l := lane{Kind: "node", Name: n.Name, H: nodeHeight, Quiet: quiet}
	idle, words := "TILT", n.Name+" is in TILT: it trusts no times, and decides nothing"
	if n.OfCluster {
		l.Name, idle, words = n.Name+" sees", "refuses", n.Name+" refuses all commands: it sees too little of its cluster"
	}
	e.bands(&l, nodeRow)
	for i, v := range n.Sees {
		class := "sight"
		if i%2 == 1 {
			class = "sight odd"
		}
		s := bar(class, v.Span, 2, nodeHeight-6)
		s.Event, s.Step = v.Event, v.Event >= 0
		s.Title = fmt.Sprintf("%s takes %s for the primary", n.Name, v.Primary)
		if v.Sends != "" {
			s.Title += fmt.Sprintf(", and sends clients whose keys it has not to %s (ASK)", v.Sends)
			s.inside("node-words", rankNode, []int{nodeRow}, "primary "+v.Primary+", ASK "+v.Sends, "ASK "+v.Sends)
		} else {
			s.inside("node-words", rankNode, []int{nodeRow}, "primary "+v.Primary, v.Primary)
		}
		l.Shapes = append(l.Shapes, s)
	}
	for _, t := range n.Idle {
		s := bar("unclear", t, 2, nodeHeight-6)
		s.Step, s.Title = true, words
		s.inside("node-words", rankNode, []int{nodeRow}, idle)
		l.Shapes = append(l.Shapes, s)
	}
	for _, d := range n.Deeds {
		s := at("line", "deed", d.At, nodeHeight-6, 6)
		s.Event, s.Title = d.Event, fmt.Sprintf("%s: %s %s", n.Name, d.Word, d.About)
		if d.Epoch.IsSet() {
			s.Title += fmt.Sprintf(", epoch %d", d.Epoch.V())
		}
		l.Shapes = append(l.Shapes, s)
	}
	e.add(l)
}

// lives draws when a node was dead, when nobody knew its key, and when it became the primary.
func lives(l *lane, n *NodeLane) {
	for _, d := range n.Down {
		s := bar("down", d, 4, nodeHeight-10)
		s.Step = true
		s.Title = n.Name + " is down"
		s.inside("node-words", rankNode, []int{nodeRow}, "down")
		l.Shapes = append(l.Shapes, s)
	}
	for _, u := range n.Unclear {
		s := bar("unclear", u, 4, nodeHeight-10)
		s.Step = true
		s.Title = fmt.Sprintf("nobody knows what %s has as its key", n.Name)
		s.inside("node-words", rankNode, []int{nodeRow}, "not known")
		l.Shapes = append(l.Shapes, s)
	}
	for _, p := range n.Primary {
		s := bar("primary", p, nodeHeight-4, 3)
		s.Title = n.Name + " serves as the primary"
		l.Shapes = append(l.Shapes, s)
	}
	for _, t := range n.Promoted {
		s := at("line", "promoted", t, 0, nodeHeight-2)
		s.Step, s.Title = true, n.Name+" becomes the primary"
		s.beside("promoted-words", rankBroken, []int{nodeRow}, "primary")
		l.Shapes = append(l.Shapes, s)
	}
}

func (e *easel) quorum() {
	l := lane{Kind: "quorum", Name: "quorum", H: quorumHeight}
	many, of := len(e.scene.Nodes), "nodes"
	if e.scene.Clusters > 0 {
		many, of = e.scene.Clusters, "clusters"
	}
	one := e.scene.Replicated && e.scene.Clusters == 0
	if one {
		l.Name = "primary"
	}
	for i, q := range e.scene.Quorum {
		s := bar("quorum", q.Span, 3, quorumHeight-8)
		s.Step = true
		number := fmt.Sprintf("%d of %d", q.Most, many)
		if q.Least != q.Most {
			number = fmt.Sprintf("%d to %d of %d", q.Least, q.Most, many)
		}
		who := HolderWords(q.Client, q.Owner)
		s.Title = fmt.Sprintf("a majority has the key of %s (%s %s)", who, number, of)
		name := s.inside("quorum-words", rankNode, []int{3 + 12}, who+"  "+number, who)
		if one {
			s.Title = "the primary has the key of " + who
			name.Inside = []string{who}
		}
		if i+1 < len(e.scene.Quorum) { // two primaries may each have a key
			name.B = min(name.B, max(name.A, int64(e.scene.Quorum[i+1].From)))
		}
		l.Shapes = append(l.Shapes, s)
	}
	e.add(l)
}

// key draws a node's key: its holder, and a tick where it ran out.
func (e *easel) key(l *lane, k *KeyHold) {
	who := HolderWords(k.Client, k.Owner)
	class := "key"
	if e.scene.Turns[k.Owner]%2 == 1 {
		// Every second owner's keys are drawn hollow, so that a change of holder
		// shows.
		class = "key odd"
	}
	s := bar(class, k.Span, 2, nodeHeight-6)
	s.Event = k.Event
	end := "deleted or taken over"
	if k.Expired {
		end = "expired"
	}
	s.Title = fmt.Sprintf("%s has the key of %s; then it is %s", l.Name, who, end)
	s.inside("node-words", rankMark, []int{nodeRow}, who)
	l.Shapes = append(l.Shapes, s)
	if k.Expired {
		t := at("line", "expired", k.To, 0, nodeHeight-2)
		t.Title = fmt.Sprintf("the key of %s on %s expired", who, l.Name)
		l.Shapes = append(l.Shapes, t)
	}
}

// holder names who a key belongs to: the client, or the key's value where no
// operation tells whose it is.
func HolderWords(client, owner string) string {
	if client != "" {
		return client
	}
	return "“" + plain.Clip(owner, 10) + "”"
}
