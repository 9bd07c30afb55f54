package world

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Pattern says which messages between clients and nodes a run waits for.
type Pattern struct {
	// Client and Node are at the ends of the link; empty: any.
	Client, Node string
	// Kind is what they are; 0: Sent.
	Kind MessageKind
	// Command is its name, in any case, or AnyCommand. What a node pushes has a name, too, such as MESSAGE.
	Command string
	// Key is one of its words, and Contains is part of one; empty: any.
	Key, Contains string
	// Can is what it can do to the lock's key; 0: that does not matter.
	Can command.Can
}

// MessageKind says who sends a message, and why. Of one message several may be true.
type MessageKind uint8

const (
	// Sent: a client sends it.
	Sent MessageKind = 1 << iota
	// Answered: a node answers with it what a client has sent.
	Answered
	// Pushed: a node tells a client with it what that waits for: what is published, that a key has changed, or an element of a list.
	Pushed
)

// FromNode reports that a node sends it.
func (k MessageKind) FromNode() bool { return k&(Answered|Pushed) != 0 }

// AnswerTo is what the answer to a command is; brings: it has what the command may wait for.
func AnswerTo(words []string, brings bool) MessageKind {
	if brings && command.Waits(words) {
		return Answered | Pushed
	}
	return Answered
}

// PushedWords are the first words of what a node pushes to those who have subscribed.
func PushedWords() []string { return []string{"MESSAGE", "PMESSAGE", "SMESSAGE", "INVALIDATE"} }

// IsPushed reports that the words of a message that answers nothing are those of one that a client waits for.
func IsPushed(words []string) bool {
	return len(words) > 0 && slices.ContainsFunc(PushedWords(), func(name string) bool { return strings.EqualFold(name, words[0]) })
}

// AnyCommand stands for all commands but those by which libraries open connections.
const AnyCommand = "any"

// opening are the commands by which libraries open connections and make scripts known.
var opening = []string{"AUTH", "CLIENT", "COMMAND", "HELLO", "INFO", "PING", "SCRIPT", "SELECT"}

// maxName bounds the name of a command, in bytes.
const maxName = 32

// CommandName is the name of a command as histories have it, and whether the command is one
// by which libraries open connections.
func CommandName(words []string) (name string, opens bool) {
	if len(words) > 0 {
		name = words[0][:min(len(words[0]), maxName)]
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r > ' ' && r <= '~' && r != '"' && r != '\\' {
			return r
		}
		return '?'
	}, name)
	if name == "" {
		name = "?"
	}
	return name, slices.Contains(opening, name)
}

// Command is one that a client sent to a node of the lock, as the history has it.
type Command = history.Command

// On reports whether messages that fit may come over a link.
func (p *Pattern) On(l Link) bool {
	return (p.Client == "" || p.Client == l.From) && (p.Node == "" || p.Node == l.To)
}

// Fits reports whether a message is one of those. Words are the command's, can is what it can do to the lock's key.
func (p *Pattern) Fits(l Link, kind MessageKind, words []string, can command.Can) bool {
	if cmp.Or(p.Kind, Sent)&kind == 0 || len(words) == 0 || !p.On(l) || p.Can&^can != 0 {
		return false
	}
	if p.Command == AnyCommand {
		if slices.ContainsFunc(opening, func(name string) bool { return strings.EqualFold(name, words[0]) }) {
			return false
		}
	} else if !strings.EqualFold(p.Command, words[0]) {
		return false
	}
	rest := words[1:]
	return (p.Key == "" || slices.Contains(rest, p.Key)) &&
		(p.Contains == "" || slices.ContainsFunc(rest, func(w string) bool { return strings.Contains(w, p.Contains) }))
}

// Patterns are those of a run, or of a link.
type Patterns []Pattern

// On are those of messages that may come over a link, or for whose sake it must be read: a script whose text one client sent
// can be called by another.
func (list Patterns) On(l Link) (on Patterns) {
	for i := range list {
		if list[i].On(l) || list[i].Can != 0 && (list[i].Node == "" || list[i].Node == l.To) {
			on = append(on, list[i])
		}
	}
	return on
}

// Fit reports whether a message is one of those.
func (list Patterns) Fit(l Link, kind MessageKind, words []string, can command.Can) bool {
	return slices.ContainsFunc(list, func(p Pattern) bool { return p.Fits(l, kind, words, can) })
}

// Message is one that a run waits for. It stands at the beginning of its way over the link
// till Hooks.Message returns.
type Message struct {
	Link Link
	Kind MessageKind
	// Words are the command's, of an answer those of the command that it answers, of what is pushed its own. Can is what it can do to
	// the lock's key, where the 	// run wants to know that.
	Words []string
	Can   command.Can
	// Disturb puts a disturbance in force on the message, and on all behind it on its
	// connection in its direction.
	Disturb func(Disturbance) (lift func() error, err error)
}
