package virtual

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// refusal is that of the i-th of the commands that the call carries.
func (k *call) refusal(i int) world.Refusal {
	if i < len(k.refusals) && k.refusals[i] != "" {
		return world.Refusal{Error: k.refusals[i], Surely: true}
	}
	return world.Refusal{Error: k.refusedBy}
}

// refuse lets the node refuse one of the call's commands.
func (k *call) refuse(i int, why string) {
	for len(k.refusals) <= i {
		k.refusals = append(k.refusals, "")
	}
	k.refusals[i] = why
}

// mayBeRefused: the node refuses some of the call's commands, perhaps.
func (k *call) mayBeRefused() bool { return k.refusedBy != "" || len(k.refusals) > 0 }

// refuses says with what the node refuses a call of a built-in client; empty: it does not. If it refuses a command of a transaction, it
// carries none of them out.
func (k *call) refuses() (answer string) {
	if !k.mayBeRefused() || k.handshake || k.batch != nil {
		return ""
	}
	var t world.Refusals
	for i, words := range k.commandWords() {
		if _, why := t.Meet(words, k.refusal(i)); why != "" {
			answer = why
		}
	}
	if answer != "" && k.cmd.Op == command.EXEC {
		return command.ExecAbort
	}
	return answer
}

// serve lets the host's process carry a call out, or refuse it; false: the answer comes later, or never. Who is refused a transaction
// watches nothing any more.
func (h *Host) serve(k *call) bool {
	if k.refused = k.refuses(); k.refused == "" {
		return h.service.serve(k)
	}
	if k.cmd.Op == command.EXEC {
		asked := k.cmd
		k.cmd = command.Unwatch()
		answered := h.service.serve(k)
		k.cmd = asked
		return answered
	}
	k.served = true
	k.noScript = command.RefusalCode(k.refused) == "NOSCRIPT"
	return true
}

// meetRefusal says with what the model refuses the i-th command of a batch, and what it gets in its place; empty: it does not.
func (k *call) meetRefusal(i int) (instead []string, why string) {
	if !k.link.w.spec.MayRefuse() {
		return nil, ""
	}
	return k.conn.refusals.Meet(k.batch.commands[i], k.refusal(i))
}

// refuser is for a connection of a guest on which a server may refuse commands.
type refuser struct {
	world.Refusals
	pairing resp.Pairing[string]
	scanner resp.Scanner
	// begun is a message of the server that has not come whole.
	begun []byte
	// blind: nobody can tell any more which command an answer is to.
	blind bool
}

// refusedCommand stands for one that is refused: one answer comes to it.
var refusedCommand = []string{""}

// pass takes in what a batch asks. It returns the bytes that the server gets, and the commands; those that it refuses are nil.
func (r *refuser) pass(k *call) (in []byte, commands [][]string) {
	if r == nil {
		return k.batch.in, k.batch.commands
	}
	commands = slices.Clone(k.batch.commands)
	for i, words := range commands {
		instead, why := r.Meet(words, k.refusal(i))
		if why != "" {
			words, commands[i] = instead, nil
		}
		in = resp.AppendCommand(in, words...)
		if r.blind || r.pairing.Ask(words, why) != nil {
			r.blind = true
		}
	}
	if len(commands) == 0 { // it cannot be read
		in = k.batch.in
	}
	return in, commands
}

// answer puts refusals in the place of what the server answers to what it got instead.
func (r *refuser) answer(b []byte) (out []byte) {
	if r == nil {
		return b
	}
	for len(b) > 0 && !r.blind {
		n, whole, err := r.scanner.Next(b)
		if err != nil {
			r.blind = true
			break
		}
		r.begun = append(r.begun, b[:n]...)
		b = b[n:]
		if !whole {
			continue
		}
		if why, answers := r.pairing.Answer(r.scanner.Message()); answers && why != "" {
			r.begun = resp.AppendLine(r.begun[:0], resp.Error, why)
		}
		out = append(out, r.begun...)
		r.begun = r.begun[:0]
	}
	if r.blind {
		out = append(append(out, r.begun...), b...)
		r.begun = nil
	}
	return out
}
