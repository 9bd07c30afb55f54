package observe

import (
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// connectionNames maps the address of a connection to the client that named it.
type connectionNames map[string]string

// learn takes note of CLIENT SETNAME. What a link has named is what the link says.
func (n connectionNames) learn(c monitored) {
	if len(c.Args) == 3 && strings.EqualFold(c.Args[0], "client") && strings.EqualFold(c.Args[1], "setname") {
		_, by := proxy.ClientOf(c.Args[2])
		if _, named := proxy.ClientOf(n[c.source]); by || !named {
			n[c.source] = c.Args[2]
		}
	}
}

// client is the client that a connection belongs to; strict: only links say so.
func (n connectionNames) client(source string, strict bool) string {
	name := n[source]
	client, link := proxy.ClientOf(name)
	if link {
		return client
	}
	if strict || name == server.Operator {
		return ""
	}
	return name
}

// learnList takes note of the names in the answer to CLIENT LIST.
func (n connectionNames) learnList(list string) {
	for line := range strings.Lines(list) {
		var addr, name string
		for field := range strings.FieldsSeq(line) {
			if v, ok := strings.CutPrefix(field, "addr="); ok {
				addr = v
			} else if v, ok := strings.CutPrefix(field, "name="); ok {
				name = v
			}
		}
		if addr != "" && name != "" {
			n[addr] = name
		}
	}
}

// watchLog records the effects that the resource appends to its log. offset is
// what to subtract from the resource's wall clock to get run time.
func watchLog(r resource.Config, offset func() (time.Duration, time.Duration), record func(history.Event)) func(monitored) {
	tell := TellEffect(offset, record)
	return func(c monitored) {
		if len(c.Args) == 3 && c.Args[1] == r.LogKey() && strings.EqualFold(c.Args[0], "rpush") {
			tell(c.Args[2])
		}
	}
}

// TellEffect records effects from the entries of the resource's log.
func TellEffect(offset func() (time.Duration, time.Duration), record func(history.Event)) func(string) {
	return func(text string) {
		entry, err := resource.ParseLogEntry(text)
		if err != nil {
			return // a log entry that we did not write tells nothing
		}
		off, uncertain := offset()
		v := history.Value{
			Client: entry.Client, Section: entry.Section, Key: entry.Cell, Number: history.Some(entry.Number),
			Outcome: &history.Outcome{
				Op: history.F(entry.Op), Accepted: history.SomeBool(entry.Accepted),
				At:      history.Some(int64(time.Duration(entry.Time)*time.Microsecond - off)),
				AtError: int64(uncertain),
			},
		}
		if entry.HasToken {
			v.Token = history.Some(entry.Token)
		}
		if entry.HasHighest {
			v.Outcome.Highest = history.Some(entry.Highest)
		}
		record(history.Event{Process: history.ResourceProcess, Type: history.Info, F: history.Effect, Value: v})
	}
}
