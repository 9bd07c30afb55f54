package node

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/script"
)

var scriptRows = []row{
	{name: "eval", arity: -3, flags: noScript, do: eval(false, false)},
	{name: "evalsha", arity: -3, flags: noScript, do: eval(true, false)},
	{name: "eval_ro", arity: -3, flags: noScript, do: eval(false, true)},
	{name: "evalsha_ro", arity: -3, flags: noScript, do: eval(true, true)},
	container("script", "kill debug help",
		row{name: "load", arity: 3, flags: noScript, do: load},
		row{name: "exists", arity: -3, flags: noScript, do: scriptsExist},
		row{name: "flush", arity: -2, flags: noScript, do: flushScripts}),
}

// knownScript is a script whose source the node has seen.
type knownScript struct {
	*script.Program
	twin *command.Script
}

// eval is EVAL and its like.
func eval(bySHA, readOnly bool) func(x *call, w []string) {
	return func(x *call, w []string) {
		n, ok := x.int(w[2])
		if !ok {
			return
		}
		if n > int64(len(w)-3) {
			x.fail("ERR Number of keys can't be greater than number of args")
			return
		}
		if n < 0 {
			x.fail("ERR Number of keys can't be negative")
			return
		}
		var s *knownScript
		if bySHA {
			if s = x.n.known[strings.ToLower(w[1])]; s == nil {
				x.fail(command.RefusalText("NOSCRIPT"))
				return
			}
		} else if s = x.learn(w[1]); s == nil {
			return
		}
		x.runScript(s, w[3:3+n], w[3+n:], readOnly)
	}
}

// learn keeps a script, compiled; nil: it has none, which has been answered.
func (x *call) learn(text string) *knownScript {
	p, err := script.Compile(text)
	if err != nil {
		x.refuse(strings.TrimPrefix(err.Error(), "ERR "))
		return nil
	}
	n := x.n
	s := n.known[p.SHA]
	if s == nil {
		s = &knownScript{Program: p}
		for _, twin := range n.config.Scripts {
			if twin.SHA() == p.SHA {
				s.twin = twin
			}
		}
		if n.known == nil {
			n.known = make(map[string]*knownScript)
		}
		n.known[p.SHA] = s
	}
	return s
}

func (x *call) runScript(s *knownScript, keys, args []string, readOnly bool) {
	if s.twin != nil && x.n.events == 0 && !readOnly && !x.c.tracks.on {
		x.twin(s.twin, keys, args)
		return
	}
	h := &x.n.host
	h.call = call{n: x.n, c: x.c, script: true, declared: keys, readOnly: readOnly || s.ReadOnly, inExec: true, reply: reply{b: h.b[:0]}}
	h.answer = s.Run(h.answer[:0], x.v3, h, keys, args)
	x.b = append(x.b, h.answer...) // behind messages that the connection got of what the script did
}

// twin runs a script as Go, where nobody looks at what it does in between.
func (x *call) twin(s *command.Script, keys, args []string) {
	r := x.n.Memory.Do(&command.Command{Op: command.EVAL, Script: s, Keys: keys, Args: args})
	switch r.Kind() {
	case command.ErrKind:
		x.fail(r.Err())
	case command.NilKind:
		x.null()
	case command.IntKind:
		x.integer(r.Int)
	case command.StatusKind:
		x.ok()
	case command.StrKind:
		x.bulk(r.Str())
	case command.ListKind:
		x.words(r.List()...)
	}
}

// host is the node as a script sees it.
type host struct {
	call
	answer []byte
}

// Call implements script.Host.
func (h *host) Call(words []string) []byte {
	h.b = h.b[:0]
	r := h.lookup(words)
	if r == nil {
		return h.b
	}
	switch {
	case r.flags&noScript != 0:
		h.fail("ERR This Redis command is not allowed from script")
	case r.flags&(write|notReadOnly) != 0 && h.readOnly:
		h.fail("ERR Write commands are not allowed from read-only scripts.")
	default:
		h.run(r, words)
	}
	return h.b
}

// Random implements script.Host.
func (h *host) Random() *uint64 { return &h.n.random }

// Protocol implements script.Host.
func (h *host) Protocol(v3 bool) { h.v3 = v3 }

// Unknown implements script.Host.
func (h *host) Unknown(what string) { h.n.unknown(what) }

func load(x *call, w []string) {
	if s := x.learn(w[2]); s != nil {
		x.bulk(s.SHA)
	}
}

func scriptsExist(x *call, w []string) {
	x.array(len(w) - 2)
	for _, sha := range w[2:] {
		x.bit(x.n.known[strings.ToLower(sha)] != nil)
	}
}

func flushScripts(x *call, w []string) {
	if len(w) > 3 || len(w) == 3 && !strings.EqualFold(w[2], "SYNC") && !strings.EqualFold(w[2], "ASYNC") {
		x.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	x.n.known = nil
	x.ok()
}
