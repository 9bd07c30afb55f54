package nemesis

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Faults can strike one message: that which fires them. A connection keeps its order, and
// answers are told apart by their order alone. So all that comes behind the message on its
// connection, in the same direction, shares its fate.

// MessageFault is a fault that can strike the message that fires it.
type MessageFault interface {
	Fault
	// StrikesMessage reports that it is to do so.
	StrikesMessage() bool
	// On is the fault that strikes this message.
	On(m world.Message) Fault
}

// thisMessage is the target before it is known which message it is.
const thisMessage = "this message"

func init() {
	register(Kind{
		Name: "drop",
		Title: "the message that fires the fault is lost, with all behind it; " +
			"its connection stays open and silent, and breaks when the fault ends",
		Powers: []world.Power{world.Cut.Power()},
		New:    func() Fault { return &drop{} },
	})
	register(Kind{
		Name:   "late",
		Title:  "the message that fires the fault comes late, with all behind it on its connection",
		Powers: []world.Power{world.Hold.Power()},
		New:    func() Fault { return &late{} },
	})
}

// ofMessage is a fault that strikes a message, and nothing without one.
type ofMessage struct {
	This bool `yaml:"this" doc:"strike the message that fires the fault" required:"true"`
}

// drop loses a message. An answer that is lost is that of a command that was carried out.
type drop struct {
	ofMessage `yaml:",inline"`
	For       time.Duration `yaml:"for" doc:"how long till its connection breaks; without it, until everything heals" min:"1ms" max:"10m"`
}

// late keeps a message back for a time.
type late struct {
	ofMessage `yaml:",inline"`
	By        time.Duration `yaml:"by" doc:"how late it comes" min:"1ms" max:"10m" required:"true"`
}

// ofLinks is a disturbance of links that can also strike one message.
type ofLinks struct {
	plain `yaml:",inline"`
	This  bool `yaml:"this" doc:"strike the message that fires the fault and all behind it on its connection, instead of links" default:"false"`
}

var _, _, _ MessageFault = (*drop)(nil), (*late)(nil), (*ofLinks)(nil)

// Target implements Fault.
func (f *ofMessage) Target() string { return thisMessage }

// Target implements Fault.
func (f *ofLinks) Target() string {
	if f.This {
		return thisMessage
	}
	return f.plain.Target()
}

// Length implements Fault.
func (f *drop) Length() time.Duration { return f.For }

// Length implements Fault.
func (f *late) Length() time.Duration { return f.By }

// Check implements Fault.
func (f *ofMessage) Check(Cast) []Complaint {
	if f.This {
		return nil
	}
	return []Complaint{{Key: "this", Message: "it strikes one message: write this: true"}}
}

// Check implements Fault.
func (f *ofLinks) Check(c Cast) []Complaint {
	if !f.This {
		return f.plain.Check(c)
	}
	if l := &f.Where; l.Client != "" || len(l.Nodes) > 0 || l.Resource || l.Replica != "" || l.Direction != world.Both {
		return []Complaint{{Key: "this",
			Message: "the message says which connection is struck: leave out client, nodes, resource, replica and direction"}}
	}
	return nil
}

// StrikesMessage implements MessageFault.
func (f *ofMessage) StrikesMessage() bool { return f.This }

// StrikesMessage implements MessageFault.
func (f *ofLinks) StrikesMessage() bool { return f.This }

// Impact implements Fault: there is none without a message.
func (f *ofMessage) Impact(world.World) history.Impact { return history.Impact{} }

// Begin implements Fault.
func (f *ofMessage) Begin(world.World) (undo func() error, err error) {
	return nil, errNoMessage
}

var errNoMessage = errors.New("no message has fired it")

// Begin implements Fault.
func (f *ofLinks) Begin(w world.World) (undo func() error, err error) {
	if f.This {
		return nil, errNoMessage
	}
	return f.plain.Begin(w)
}

// On implements MessageFault.
func (f *drop) On(m world.Message) Fault {
	return &struck{Fault: f, m: m, what: world.Cut, words: "was lost, with all behind it on its connection", does: history.Drops}
}

// On implements MessageFault.
func (f *late) On(m world.Message) Fault {
	return &struck{Fault: f, m: m, what: world.Hold,
		words: fmt.Sprintf("was late by %v, with all behind it on its connection", f.By), does: history.Delays}
}

// On implements MessageFault.
func (f *ofLinks) On(m world.Message) Fault {
	if !f.This {
		return f
	}
	s := &struck{Fault: f, m: m, what: f.kind, words: "was held back, with all behind it on its connection", does: f.does}
	if f.kind == world.Reset {
		s.words = "broke its connection"
	}
	return s
}

// struck is a fault with the message that it strikes.
type struck struct {
	Fault
	m     world.Message
	what  world.DisturbanceKind
	words string
	does  history.Does
}

// Target implements Fault.
func (s *struck) Target() string { return s.m.Link.From + " to " + s.m.Link.To }

// Impact implements Fault.
func (s *struck) Impact(w world.World) history.Impact {
	command := strings.ToUpper(s.m.Words[0])
	words := fmt.Sprintf("%s from %s to %s", command, s.m.Link.From, s.m.Link.To)
	switch {
	case s.m.Kind == world.Pushed:
		words = fmt.Sprintf("what %s pushes to %s (%s)", s.m.Link.To, s.m.Link.From, command)
	case s.m.Kind.FromNode():
		words = fmt.Sprintf("the answer of %s to %s from %s", s.m.Link.To, command, s.m.Link.From)
	}
	return history.Impact{Words: words + " " + s.words, Effects: []history.Strike{{Does: s.does, Links: ofProcess(w, s.m.Link)}}}
}

// Begin implements Fault.
func (s *struck) Begin(world.World) (undo func() error, err error) {
	undo, err = s.m.Disturb(world.Disturbance{Kind: s.what})
	if s.what == world.Reset {
		// It is over when the message has broken the connection; nobody else is struck.
		return func() error { return nil }, err
	}
	return undo, err
}

// breaking is how long a fault is said to last that is over at once, as the reset of a message.
const breaking = time.Millisecond

// Length implements Fault.
func (s *struck) Length() time.Duration {
	if s.what == world.Reset {
		return breaking
	}
	return s.Fault.Length()
}

// messageKinds are the kinds by which a search strikes one message, the one that fires them.
var messageKinds = map[string]func(length time.Duration) (kind string, f Fault){
	"hold-message": func(length time.Duration) (string, Fault) {
		return hold.kind.String(), &ofLinks{plain: plain{disturbance{Where{For: length}}, &hold}, This: true}
	},
	"refuse-message": func(time.Duration) (string, Fault) { return "refuse", &refuse{Error: drawnErrors[0], This: true} },
	"lose-answer": func(length time.Duration) (string, Fault) {
		return "drop", &drop{ofMessage{true}, length}
	},
}

// MessageKinds lists the kinds that strike one message.
func MessageKinds() []string { return slices.Sorted(maps.Keys(messageKinds)) }

// DrawnAs is the kind as which a search draws a fault of a kind: MessageKinds lists those that strike one message.
func DrawnAs(kind string, f Fault) string {
	if m, ok := f.(MessageFault); ok && m.StrikesMessage() {
		for drawn, of := range messageKinds {
			if name, _ := of(0); name == kind {
				return drawn
			}
		}
	}
	return kind
}

// OfMessage is the fault of a kind that MessageKinds lists, and the name of that fault.
func OfMessage(kind string, length time.Duration) (name string, f Fault) {
	return messageKinds[kind](length)
}
