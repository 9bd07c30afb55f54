package node

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

var keyRows = []row{
	{name: "del", arity: -2, flags: write, first: 1, last: -1, step: 1, do: del},
	{name: "unlink", arity: -2, flags: write, first: 1, last: -1, step: 1, do: del},
	{name: "exists", arity: -2, first: 1, last: -1, step: 1, do: exists},
	{name: "touch", arity: -2, first: 1, last: -1, step: 1, do: exists},
	{name: "type", arity: 2, first: 1, last: 1, step: 1, do: typeOf},
	{name: "keys", arity: 2, do: listKeys},
	{name: "scan", arity: -2, do: scan},
	{name: "rename", arity: 3, flags: write, first: 1, last: 2, step: 1, do: rename},
	{name: "renamenx", arity: 3, flags: write, first: 1, last: 2, step: 1, do: rename},
	{name: "flushall", arity: -1, flags: write, do: flush},
	{name: "flushdb", arity: -1, flags: write, do: flush},
	{name: "dbsize", arity: 1, do: func(x *call, _ []string) { x.count(len(x.n.Memory.Items)) }},
}

func del(x *call, w []string) {
	n := 0
	for _, key := range w[1:] {
		if x.drop(key) {
			n++
		}
	}
	x.count(n)
}

func exists(x *call, w []string) {
	n := 0
	for _, key := range w[1:] {
		if x.any(key) != nil {
			n++
		}
	}
	x.count(n)
}

var kindNames = [...]string{model.String: "string", model.List: "list", model.Hash: "hash", model.Set: "set", model.SortedSet: "zset"}

func typeOf(x *call, w []string) {
	if it := x.any(w[1]); it != nil {
		x.text(kindNames[it.Kind()])
		return
	}
	x.text("none")
}

// matching are the keys that match, those among them that have expired, too.
func (x *call) matching(pattern string) []string {
	var found []string
	for i := range x.n.Memory.Items {
		if key := x.n.Memory.Items[i].Key; glob(pattern, key) {
			found = append(found, key)
		}
	}
	return found
}

// listKeys leaves what has expired where it is, as Redis does.
func listKeys(x *call, w []string) {
	x.words(slices.DeleteFunc(x.matching(w[1]), x.n.Memory.Overdue)...)
}

// scan answers all keys at once.
func scan(x *call, w []string) {
	if _, err := strconv.ParseUint(w[1], 10, 64); err != nil {
		x.fail("ERR invalid cursor")
		return
	}
	pattern, kind := "*", ""
	for i := 2; i < len(w); i += 2 {
		if i+1 == len(w) {
			x.fail(errSyntax)
			return
		}
		switch strings.ToUpper(w[i]) {
		case "COUNT":
			if n, ok := x.int(w[i+1]); !ok || n < 1 {
				if ok {
					x.fail(errSyntax)
				}
				return
			}
		case "MATCH":
			pattern = w[i+1]
		case "TYPE":
			kind = strings.ToLower(w[i+1])
		default:
			x.fail(errSyntax)
			return
		}
	}
	found := slices.DeleteFunc(x.matching(pattern), func(key string) bool {
		it := x.any(key)
		return it == nil || kind != "" && kindNames[it.Kind()] != kind
	})
	if w[1] != "0" {
		found = nil
	}
	x.array(2)
	x.bulk("0")
	x.words(found...)
}

// rename is RENAME and RENAMENX.
func rename(x *call, w []string) {
	onlyNew := len(w[0]) == len("renamenx")
	it := x.any(w[1])
	if it == nil {
		x.fail(errNoKey)
		return
	}
	answer := func(did bool) {
		if onlyNew {
			x.bit(did)
		} else {
			x.ok()
		}
	}
	if w[1] == w[2] {
		answer(false)
		return
	}
	to := *it
	to.Key = w[2]
	if other := x.any(w[2]); other != nil {
		if onlyNew {
			answer(false)
			return
		}
	}
	x.n.Memory.Del(w[1])
	x.n.Memory.Put(to)
	x.n.notify(generic, "rename_from", w[1])
	x.n.notify(generic, "rename_to", w[2])
	answer(true)
}

// flush is FLUSHALL and FLUSHDB.
func flush(x *call, w []string) {
	if len(w) > 2 || len(w) == 2 && !strings.EqualFold(w[1], "SYNC") && !strings.EqualFold(w[1], "ASYNC") {
		x.fail(errSyntax)
		return
	}
	x.n.flushing = true
	for m := x.n.Memory; len(m.Items) > 0; {
		it := &m.Items[len(m.Items)-1]
		if m.Observer != nil {
			m.Observer.Deleted(it)
		}
		m.Remove(len(m.Items) - 1)
	}
	x.n.flushing = false
	x.n.forgetAll()
	if m := x.n.Memory; m.Flushed != nil {
		m.Flushed(len(w[0]) == len("flushall"))
	}
	x.ok()
}

// glob reports whether a name matches a pattern in Redis's way.
func glob(p, s string) bool {
	for p != "" {
		switch p[0] {
		case '*':
			for p != "" && p[0] == '*' {
				p = p[1:]
			}
			if p == "" {
				return true
			}
			for i := range len(s) + 1 {
				if glob(p, s[i:]) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
		case '[':
			if s == "" {
				return false
			}
			var in bool
			if in, p = inClass(p[1:], s[0]); !in {
				return false
			}
			s = s[1:]
			continue
		case '\\':
			if len(p) > 1 {
				p = p[1:]
			}
			fallthrough
		default:
			if s == "" || s[0] != p[0] {
				return false
			}
		}
		p, s = p[1:], s[1:]
	}
	return s == ""
}

// inClass reads a class of characters up to its end, and says whether c is in it.
func inClass(p string, c byte) (in bool, rest string) {
	not := p != "" && p[0] == '^'
	if not {
		p = p[1:]
	}
	for {
		switch {
		case p == "":
			return in != not, ""
		case p[0] == '\\' && len(p) > 1:
			in, p = in || p[1] == c, p[2:]
		case p[0] == ']':
			return in != not, p[1:]
		case len(p) > 2 && p[1] == '-':
			low, high := min(p[0], p[2]), max(p[0], p[2])
			in, p = in || low <= c && c <= high, p[3:]
		default:
			in, p = in || p[0] == c, p[1:]
		}
	}
}
