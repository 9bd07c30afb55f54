package edn

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Write writes the operations of a history, and the strokes of the nemesis, one
// map a line, as Jepsen's store has them in history.edn. Clients become the
// numbers of Jepsen's processes. A process whose operation has an unknown outcome
// is done with, as Jepsen demands: its client goes on as another process, whose
// number is higher by the number of clients.
// Grants carry {:token n, :owner "x", :valid-until ns}; observations of nodes and
// of the resource have no place in Jepsen's histories and are left out.
func Write(w io.Writer, h *history.History) error {
	b := bufio.NewWriterSize(w, 1<<16)
	e := newEncoder(h)
	for i := range h.Events {
		if line, ok := e.line(&h.Events[i]); ok {
			fmt.Fprintln(b, line)
		}
	}
	return b.Flush()
}

type encoder struct {
	process map[string]int
	// open has the processes of the operations that have not returned, by client
	// and f.
	open    map[[2]string]int
	clients int
	written int
	// keyed: some operations have a key, so the value of every list must be a tuple.
	keyed bool
}

func newEncoder(h *history.History) *encoder {
	e := &encoder{process: make(map[string]int), open: make(map[[2]string]int)}
	add := func(client string) {
		if _, known := e.process[client]; !known {
			e.process[client] = len(e.process)
		}
	}
	for _, c := range h.Header.Clients {
		add(c)
	}
	for i := range h.Events {
		if h.Events[i].IsOp() {
			add(h.Events[i].Process)
			e.keyed = e.keyed || h.Events[i].Value.Key != ""
		}
	}
	e.clients = len(e.process)
	return e
}

func (e *encoder) line(ev *history.Event) (string, bool) {
	var process, f, value string
	switch {
	case ev.IsOp():
		slot := [2]string{ev.Process, string(ev.F)}
		p, open := e.open[slot]
		switch {
		case ev.Type == history.Invoke:
			if open || e.busy(ev.Process) {
				// The operation before never returned.
				e.process[ev.Process] += e.clients
			}
			p = e.process[ev.Process]
			e.open[slot] = p
		case !open:
			return "", false
		default:
			delete(e.open, slot)
			if ev.Type == history.Info && p == e.process[ev.Process] {
				e.process[ev.Process] += e.clients
			}
		}
		process, f, value = strconv.Itoa(p), string(ev.F), e.value(ev)
	case ev.F == history.FaultBegin || ev.F == history.FaultEnd:
		process, f, value = ":nemesis", string(ev.F), fmt.Sprintf("{:fault %s, :target %s}", quote(ev.Value.Fault()), quote(ev.Value.Target()))
	default:
		return "", false
	}
	line := fmt.Sprintf("{:index %d, :time %d, :process %s, :type :%s, :f :%s, :value %s", e.written, ev.Time, process, ev.Type, f, value)
	if !ev.Error.IsZero() {
		line += ", :error " + quote(ev.Error.String())
	}
	e.written++
	return line + "}", true
}

// busy says whether the present process of a client has an operation open: a
// background renewal, or one that never returned.
func (e *encoder) busy(client string) bool {
	for slot, p := range e.open {
		if slot[0] == client && p == e.process[client] {
			return true
		}
	}
	return false
}

func (e *encoder) value(ev *history.Event) string {
	v := &ev.Value
	value := "nil"
	switch ev.F {
	case history.Acquire, history.Release, history.Forget, history.Extend:
		var parts []string
		if v.Token.IsSet() {
			parts = append(parts, fmt.Sprintf(":token %d", v.Token.V()))
		}
		if v.Owner != "" {
			parts = append(parts, ":owner "+quote(v.Owner))
		}
		if v.ValidUntil().IsSet() {
			parts = append(parts, fmt.Sprintf(":valid-until %d", v.ValidUntil().V()))
		}
		if len(parts) > 0 {
			value = "{" + strings.Join(parts, ", ") + "}"
		}
	case history.CAS:
		value = fmt.Sprintf("[%s %s]", number(v.Expected()), number(v.Number))
	default:
		value = number(v.Number)
		if v.List() != nil {
			value = strings.Join(strings.Fields(fmt.Sprint(v.List())), " ")
		}
	}
	switch {
	case v.Key != "":
		value = fmt.Sprintf("[%s %s]", quote(v.Key), value)
	case e.keyed && strings.HasPrefix(value, "["):
		value = "[nil " + value + "]"
	}
	return value
}

func number(n history.Int) string {
	if !n.IsSet() {
		return "nil"
	}
	return strconv.FormatInt(n.V(), 10)
}

// quote writes a string with the escapes that EDN knows.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
