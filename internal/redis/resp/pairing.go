package resp

import (
	"fmt"
	"strings"
)

// Pairing tells which command each message of a server answers. About is what is known of a command.
type Pairing[About any] struct {
	asked []asked[About]
	// subscribed: messages may come that answer nothing.
	subscribed bool
}

type asked[About any] struct {
	about About
	// messages are how many answer it.
	messages int
}

// Ask takes note of a command that the server gets. An error says that it is not known how many messages answer it: from then
// on nothing can be told.
func (p *Pairing[About]) Ask(words []string, about About) error {
	name := strings.ToUpper(words[0])
	messages := 1
	switch {
	case name == "MONITOR", name == "SYNC", name == "PSYNC", strings.HasSuffix(name, "UNSUBSCRIBE") && len(words) == 1,
		name == "CLIENT" && len(words) > 2 && strings.EqualFold(words[1], "reply") && !strings.EqualFold(words[2], "on"):
		return fmt.Errorf("how many answers come to %s is not known", strings.Join(words[:min(len(words), 3)], " "))
	case strings.HasSuffix(name, "SUBSCRIBE"):
		messages, p.subscribed = max(len(words)-1, 1), true
	}
	p.asked = append(p.asked, asked[About]{about, messages})
	return nil
}

// Answer finds the command to which a message is the last that answers it; false: there is none. The words are those of a
// Scanner.
func (p *Pairing[About]) Answer(kind Kind, words []string) (about About, ok bool) {
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	subscription := p.subscribed && (kind == Push || kind == Array) && strings.HasSuffix(first, "subscribe")
	published := p.subscribed && kind == Array && (first == "message" || first == "pmessage" || first == "smessage")
	if kind == Push && !subscription || published || len(p.asked) == 0 {
		return about, false
	}
	head := &p.asked[0]
	if head.messages--; head.messages > 0 && subscription {
		return about, false
	}
	about = head.about
	p.asked = p.asked[1:]
	return about, true
}

// Len is how many commands have no answer yet. First is the one that is answered next, where there is one.
func (p *Pairing[About]) Len() int     { return len(p.asked) }
func (p *Pairing[About]) First() About { return p.asked[0].about }

// Drop forgets the commands that have no answer yet, and returns what is known of them.
func (p *Pairing[About]) Drop() (list []About) {
	for i := range p.asked {
		list = append(list, p.asked[i].about)
	}
	p.asked = nil
	return list
}

// PutsOff reports that a message says that its command has not been carried out yet: its script is not known, or it waits for
// EXEC.
func PutsOff(kind Kind, words []string) bool {
	return len(words) > 0 && (kind == Error && strings.HasPrefix(words[0], "NOSCRIPT ") || kind == Text && words[0] == "QUEUED")
}
