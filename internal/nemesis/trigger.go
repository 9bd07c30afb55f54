package nemesis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Planned is a fault with its trigger.
type Planned struct {
	Kind  string
	Fault Fault
	When  Trigger
}

// Trigger says when a fault strikes, in exactly one of four ways, and what else ends it. A fault at 0 is in force before the clients begin.
type Trigger struct {
	On    *On            `yaml:"on" doc:"strike when a client passes a point of its code, or when a message is on its way; the client or the message stands there until the fault has taken effect"`
	At    *time.Duration `yaml:"at" doc:"strike at this time of the run; at 0s before the clients begin" max:"1h"`
	Every Distribution   `yaml:"every" doc:"strike again and again, after intervals drawn from the seed: 5s, uniform(1s..3s), exp(mean=2s)"`
	After *After         `yaml:"after" doc:"strike after another fault"`
	Until *Passing       `yaml:"until" doc:"the fault ends when this happens, if it has not ended before; at once, if it has happened already"`
	Stays bool           `yaml:"stays" doc:"it stays when everything heals: the place is like that, as where machines are far from each other" default:"false"`
}

// Passing is something that happens for the Nth time: a client is at a point, a client sends a command, a node answers one, or
// a sentinel tells of something. The message waits until all that it sets off has taken effect.
type Passing struct {
	Node     string `yaml:"node" doc:"with answers and pushes: which node, as clients call it; any where it is left out"`
	Client   string `yaml:"client" doc:"with point and sends: which client; any where it is left out"`
	Point    string `yaml:"point" doc:"a point of the client's code"`
	Sends    string `yaml:"sends" doc:"a Redis command that the client sends to a node, such as SET or EVALSHA; any: all but those by which libraries open connections (AUTH, CLIENT, COMMAND, HELLO, INFO, PING, SCRIPT, SELECT)" pattern:"^[A-Za-z][A-Za-z._-]{0,63}$"`
	Answers  string `yaml:"answers" doc:"the Redis command that the node answers; any: as with sends. What a node pushes to subscribers answers nothing (pushes)" pattern:"^[A-Za-z][A-Za-z._-]{0,63}$"`
	Pushes   string `yaml:"pushes" doc:"what the node pushes to a client that waits: MESSAGE, PMESSAGE or SMESSAGE (it has subscribed), INVALIDATE (it caches a key), or the answer with an element to a command that waits for one, such as BLPOP; any: all of these" pattern:"^[A-Za-z][A-Za-z._-]{0,63}$"`
	To       string `yaml:"to" doc:"the node to which the client sends, or the client to which the node answers or pushes; any where it is left out"`
	Key      string `yaml:"key" doc:"with sends, answers and pushes: a key that the command names; of what is published, the channel" max:"1024"`
	Contains string `yaml:"contains" doc:"with sends, answers and pushes: a text within one of the words behind the command's name" max:"1024"`
	Can      string `yaml:"can" doc:"with sends and answers: what the command can do to the lock's key, whatever its name is: set it, give it another end (lengthen), or remove it (end). Of a script that is what the commands can that stand in it" values:"set,lengthen,end"`
	Sentinel string `yaml:"sentinel" doc:"with tells: which sentinel; any where it is left out"`
	Tells    string `yaml:"tells" doc:"what the sentinel tells its subscribers, in Redis' word, such as +sdown, +odown, +vote-for-leader, +elected-leader or +switch-master" pattern:"^[+-][a-z-]{1,63}$"`
	About    string `yaml:"about" doc:"with tells: the node or the sentinel that it is about; of +switch-master the new primary; any where it is left out"`
	Nth      int    `yaml:"nth" doc:"which time it happens (1: the first)" min:"1" max:"1000000" default:"1"`
}

// On is a passing, and what must have happened before it, or before it counts.
type On struct {
	Passing `yaml:",inline"`
	And     *Passing `yaml:"and" doc:"strike only if this has happened already"`
	Unless  *Passing `yaml:"unless" doc:"strike only if this has not happened yet: where it has, the fault came too late for what it is about"`
	Since   *Passing `yaml:"since" doc:"count from when this has happened: what happened before it is not counted"`
}

// After is another fault.
type After struct {
	Fault int           `yaml:"fault" doc:"the number of the other fault in the list, from 1" min:"1" max:"1000" required:"true"`
	Event string        `yaml:"event" doc:"whether its begin or its end counts" default:"begin" values:"begin,end"`
	Delay time.Duration `yaml:"delay" doc:"how long after it" max:"1h" default:"0s"`
}

// IsMessage reports that a message is meant.
func (p Passing) IsMessage() bool { return p.Sends != "" || p.FromNode() }

// FromNode reports that a message is meant that a node sends.
func (p Passing) FromNode() bool { return p.Answers != "" || p.Pushes != "" }

// Command is the name of the command of a message.
func (p Passing) Command() string { return p.Sends + p.Answers + p.Pushes }

// IsMessage reports that a message fires the fault; nil: something else does.
func (o *On) IsMessage() bool { return o != nil && o.Passing.IsMessage() }

// Pattern is the message that is meant.
func (p Passing) Pattern() world.Pattern {
	pattern := world.Pattern{Kind: world.Sent, Client: p.Client, Node: p.To, Command: p.Command(), Key: p.Key, Contains: p.Contains,
		Can: command.CanNamed(p.Can)}
	if p.FromNode() {
		pattern.Kind, pattern.Client, pattern.Node = world.Answered, p.To, p.Node
	}
	if p.Pushes != "" {
		pattern.Kind = world.Pushed
	}
	return pattern
}

// clientOf is the client without which it cannot happen; empty: any will do.
func (p Passing) clientOf() string {
	if p.FromNode() {
		return p.To
	}
	return p.Client
}

// anyTime is the same, whichever time it happens.
func (p Passing) anyTime() Passing {
	p.Nth = 0
	return p
}

func (p Passing) String() string {
	var text string
	switch {
	case p.Tells != "":
		text = cmp.Or(p.Sentinel, "any sentinel") + " tells " + p.Tells
		if p.About != "" {
			text += " of " + p.About
		}
	case p.Sends != "":
		text = cmp.Or(p.Client, "any client") + " sends " + commandWords(p.Sends) + p.details() + " to " + cmp.Or(p.To, "any node")
	case p.Answers != "":
		text = cmp.Or(p.Node, "any node") + " answers " + commandWords(p.Answers) + p.details() + " to " + cmp.Or(p.To, "any client")
	case p.Pushes != "":
		what := "anything"
		if p.Pushes != world.AnyCommand {
			what = strings.ToUpper(p.Pushes)
		}
		text = cmp.Or(p.Node, "any node") + " pushes " + what + p.details() + " to " + cmp.Or(p.To, "any client")
	default:
		text = cmp.Or(p.Client, "any client") + " is at " + p.Point
	}
	if p.Nth > 1 {
		return text + " for the " + ordinal(p.Nth) + " time"
	}
	return text
}

// commandWords is a command in a sentence.
func commandWords(name string) string {
	if name == world.AnyCommand {
		return "any command"
	}
	return strings.ToUpper(name)
}

// details is what else is asked of the command.
func (p Passing) details() string {
	if p.Can != "" {
		return p.words() + " that can " + p.Can + " the lock's key,"
	}
	return p.words()
}

// words are what is asked of the command's words.
func (p Passing) words() string {
	switch {
	case p.Key != "" && p.Contains != "":
		return fmt.Sprintf(" of the key %s, with %q,", p.Key, p.Contains)
	case p.Key != "":
		return " of the key " + p.Key
	case p.Contains != "":
		return fmt.Sprintf(" with %q", p.Contains)
	}
	return ""
}

// String says it in words.
func (t Trigger) String() string {
	switch {
	case t.On != nil:
		return "when " + t.On.String()
	case !t.Every.IsZero():
		return "every " + t.Every.String()
	case t.After != nil:
		return fmt.Sprintf("%v after the %s of fault %d", t.After.Delay, t.After.Event, t.After.Fault)
	case t.At != nil:
		return fmt.Sprintf("at %v", *t.At)
	}
	return "never"
}

func (o *On) String() string {
	text := o.Passing.String()
	if o.Since != nil {
		text += fmt.Sprintf(", counted from when %s", o.Since)
	}
	if o.Unless != nil {
		text += fmt.Sprintf(", unless before that %s", o.Unless)
	}
	if o.And != nil {
		text += fmt.Sprintf(", if before that %s", o.And)
	}
	return text
}

// passings are all for which a fault waits.
func (t *Trigger) passings() (list []*Passing) {
	if t.On != nil {
		list = append(list, &t.On.Passing, t.On.And, t.On.Unless, t.On.Since)
	}
	return slices.DeleteFunc(append(list, t.Until), func(p *Passing) bool { return p == nil })
}

// Lasting are the numbers of the faults that were to last until something happens, and no longer.
func Lasting(faults []Planned) (ids []int) {
	for i := range faults {
		if f := &faults[i]; f.When.Until != nil && f.Fault.Length() == 0 && !f.When.Stays {
			ids = append(ids, i+1)
		}
	}
	return ids
}

// Points are the points at which clients have to report.
func Points(faults []Planned) (points []string) {
	for i := range faults {
		for _, p := range faults[i].When.passings() {
			if p.Point != "" && !slices.Contains(points, p.Point) {
				points = append(points, p.Point)
			}
		}
	}
	return points
}

// Messages are those for which faults wait.
func Messages(faults []Planned) (list world.Patterns) {
	for i := range faults {
		for _, p := range faults[i].When.passings() {
			if p.IsMessage() && !slices.Contains(list, p.Pattern()) {
				list = append(list, p.Pattern())
			}
		}
	}
	return list
}

// ordinal writes 2 as 2nd.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
