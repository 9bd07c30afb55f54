package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name: "refuse",
		Title: "nodes answer commands with an error, and do not carry them out, as while they load their data: " +
			"those that Redis answers so, or the one that fires the fault",
		Powers: []world.Power{world.Refuse.Power()},
		New:    func() Fault { return &refuse{} },
	})
}

// refuse lets nodes refuse commands.
type refuse struct {
	Client string        `yaml:"client" doc:"the client whose commands are refused; all clients' where it is left out"`
	Nodes  []string      `yaml:"nodes" doc:"the nodes that refuse commands; all where it is left out"`
	Error  string        `yaml:"error" doc:"the error that they answer with; Redis's own words where only the code, its first word, is given. The code says which commands a node refuses so: LOADING, BUSY and MASTERDOWN all but a few, READONLY, MISCONF and NOREPLICAS what may write, OOM what takes memory, NOSCRIPT calls of a script by its name, CLUSTERDOWN what names a key" pattern:"^[A-Z]+( [ -~]+)?$" max:"400" required:"true"`
	This   bool          `yaml:"this" doc:"refuse the command that fires the fault, and no other" default:"false"`
	For    time.Duration `yaml:"for" doc:"how long; without it, until everything heals" min:"1ms" max:"10m"`
}

var _ RequestFault = (*refuse)(nil)

// RequestFault is a MessageFault that strikes what is sent alone.
type RequestFault interface {
	MessageFault
	// Misses says why it cannot strike the message that is meant; empty: it can.
	Misses(p Passing) string
}

// where are the links on which commands are refused.
func (f *refuse) where() *Where {
	return &Where{Client: f.Client, Nodes: f.Nodes, Direction: world.Requests, For: f.For}
}

// Target implements Fault.
func (f *refuse) Target() string {
	if f.This {
		return thisMessage
	}
	return f.where().Target()
}

// Length implements Fault.
func (f *refuse) Length() time.Duration { return f.For }

// Check implements Fault.
func (f *refuse) Check(c Cast) []Complaint {
	var list []Complaint
	if code := command.RefusalCode(f.Error); f.Error != "" && !slices.Contains(command.RefusalCodes(), code) {
		list = append(list, Complaint{Key: "error", Message: fmt.Sprintf("no node is known to refuse commands with %q", code),
			Given: code, Allowed: command.RefusalCodes()})
	}
	if f.This && (f.Client != "" || len(f.Nodes) > 0 || f.For > 0) {
		return append(list, Complaint{Key: "this", Message: "the message says which command is refused: leave out client, nodes and for"})
	}
	if !f.This && len(f.Nodes) == 0 && len(c.Sentinels) > 0 {
		list = append(list, Complaint{Key: "nodes", Message: "missing: sentinels refuse nothing", Allowed: c.Endpoints})
	}
	return append(list, f.where().Check(c)...)
}

// Impact implements Fault.
func (f *refuse) Impact(w world.World) history.Impact {
	return f.where().impactOn(w, "commands", refusedWith(f.Error), history.Refuses)
}

// refusedWith goes on after what is refused.
func refusedWith(text string) string {
	return "were answered with " + command.RefusalCode(text) + ", and not carried out"
}

// Begin implements Fault.
func (f *refuse) Begin(w world.World) (undo func() error, err error) {
	if f.This {
		return nil, errNoMessage
	}
	where := f.where()
	return w.Disturb(where.links(w), world.Disturbance{Kind: world.Refuse, Direction: world.Requests, Error: command.RefusalText(f.Error)})
}

// StrikesMessage implements MessageFault.
func (f *refuse) StrikesMessage() bool { return f.This }

// On implements MessageFault.
func (f *refuse) On(m world.Message) Fault {
	if !f.This {
		return f
	}
	return &refusedMessage{struck{Fault: f, m: m, words: strings.Replace(refusedWith(f.Error), "were", "was", 1), does: history.Refuses}, f}
}

// Misses implements RequestFault.
func (f *refuse) Misses(p Passing) string {
	if p.FromNode() {
		return "a command that is answered has been carried out, or not: the message to strike is what is sent"
	}
	if strings.EqualFold(p.Sends, world.AnyCommand) {
		return ""
	}
	return f.misses([]string{p.Sends, "", "1"}) // a script with a key
}

// misses says why a node does not answer a command with the error; empty: it may. EXEC is for what is in its transaction.
func (f *refuse) misses(words []string) string {
	code := command.RefusalCode(f.Error)
	if command.Refuses(f.Error, words) || strings.EqualFold(words[0], "exec") && code != "NOSCRIPT" {
		return ""
	}
	return fmt.Sprintf("no node answers %s with %s", strings.ToUpper(words[0]), code)
}

// refusedMessage is a command that is refused.
type refusedMessage struct {
	struck
	f *refuse
}

// Begin implements Fault.
func (r *refusedMessage) Begin(world.World) (undo func() error, err error) {
	if why := r.f.misses(r.m.Words); why != "" {
		return nil, fmt.Errorf("%s", why)
	}
	return r.m.Disturb(world.Disturbance{Kind: world.Refuse, Error: command.RefusalText(r.f.Error)})
}

// Impact implements Fault.
func (r *refusedMessage) Impact(w world.World) history.Impact {
	i := r.struck.Impact(w)
	i.Instant = true
	return i
}

// Length implements Fault: it is over when the command has been refused.
func (r *refusedMessage) Length() time.Duration { return breaking }
