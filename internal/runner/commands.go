package runner

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// MaxCommands bounds how many commands a history has. Of more it says that they are not known.
const MaxCommands = 100_000

// command records a command from a client to a node of the lock.
func (r *run) command(client string, c world.Command) {
	if n := r.commands.Add(1); n <= MaxCommands {
		r.record(history.Event{Process: client, Type: history.Info,
			F: history.Sent, Value: history.Value{Rare: &history.Rare{Command: &c}}})
	} else if n == MaxCommands+1 {
		r.record(history.Event{Process: history.RunProcess, Type: history.Info, F: history.Unread,
			Value: history.Value{Rare: &history.Rare{Unread: &history.UnreadCommand{}}},
			Error: history.SomeText(fmt.Sprintf("more than %d commands were sent", MaxCommands))})
	}
}

// unread records that commands, or their answers alone, cannot be told any more. Faults that
// wait for one are listed as not fired.
func (r *run) unread(l world.Link, answers bool, why string) {
	r.record(history.Event{Process: l.From, Type: history.Info, F: history.Unread,
		Value: history.Value{Rare: &history.Rare{Unread: &history.UnreadCommand{Node: l.To, Answers: answers}}}, Error: history.SomeText(why)})
	r.schedule.Unread(l, answers, why)
}
