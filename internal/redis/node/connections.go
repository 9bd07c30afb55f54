package node

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

var connectionRows = []row{
	{name: "ping", arity: -1, flags: subscriber, do: ping},
	{name: "echo", arity: 2, do: func(x *call, w []string) { x.bulk(w[1]) }},
	{name: "select", arity: 2, do: selectDB},
	{name: "quit", arity: -1, flags: noScript | atOnce | subscriber, do: quit},
	{name: "reset", arity: 1, flags: noScript | atOnce | subscriber, do: reset},
	{name: "hello", arity: -1, flags: noScript, do: hello},
	{name: "auth", arity: -2, flags: noScript, do: auth},
	{name: "wait", arity: 3, flags: noScript, do: wait},
	container("client", "list pause unpause reply unblock trackinginfo getredir help",
		row{name: "id", arity: 2, flags: noScript | client, do: func(x *call, _ []string) { x.integer(x.c.id) }},
		row{name: "setname", arity: 3, flags: noScript | client, do: setname},
		row{name: "getname", arity: 2, flags: noScript | client, do: getname},
		row{name: "no-evict", arity: 3, flags: noScript | client, do: noEvict},
		row{name: "info", arity: 2, flags: noScript | client, do: func(x *call, _ []string) { x.verbatim(x.c.info()) }},
		row{name: "kill", arity: -3, flags: noScript | client, do: kill},
		row{name: "tracking", arity: -3, flags: noScript | client, do: trackingCommand},
		row{name: "caching", arity: 3, flags: noScript | client, do: caching}),
}

func ping(x *call, w []string) {
	switch {
	case len(w) > 2:
		x.fail("ERR wrong number of arguments for 'ping' command")
	case x.c.subscribed() && !x.v3 && !x.script:
		x.words("pong", strings.Join(w[1:], ""))
	case len(w) == 2:
		x.bulk(w[1])
	default:
		x.text("PONG")
	}
}

func selectDB(x *call, w []string) {
	n, ok := x.int(w[1])
	if !ok {
		return
	}
	if n < 0 || n > 15 {
		x.fail("ERR DB index is out of range")
		return
	}
	if n != 0 {
		x.n.unknown("SELECT " + w[1])
	}
	x.ok()
}

func quit(x *call, _ []string) {
	x.ok()
	x.c.Close()
}

func reset(x *call, _ []string) {
	c := x.c
	c.endTransaction()
	c.tracks, c.name = tracks{}, ""
	c.channels, c.patterns = nil, nil
	x.v3 = false
	x.text("RESET")
}

func hello(x *call, w []string) {
	v3 := x.v3
	if len(w) > 1 {
		n, ok := command.Integer(w[1])
		if !ok {
			x.fail("ERR Protocol version is not an integer or out of range")
			return
		}
		if n != 2 && n != 3 {
			x.fail("NOPROTO unsupported protocol version")
			return
		}
		v3 = n == 3
	}
	for i := 2; i < len(w); i++ {
		switch option := strings.ToUpper(w[i]); {
		case option == "AUTH" && i+2 < len(w):
			if !x.mayEnter(w[i+1]) {
				return
			}
			i += 2
		case option == "SETNAME" && i+1 < len(w):
			if !x.rename(w[i+1]) {
				return
			}
			i++
		default:
			x.refuse("Syntax error in HELLO option '" + cut(w[i], 128) + "'")
			return
		}
	}
	x.v3 = v3
	x.mapping(7)
	x.bulk("server")
	x.bulk("redis")
	x.bulk("version")
	x.bulk(version)
	x.bulk("proto")
	x.integer(map[bool]int64{false: 2, true: 3}[v3])
	x.bulk("id")
	x.integer(x.c.id)
	x.bulk("mode")
	x.bulk("standalone")
	x.bulk("role")
	x.bulk("master")
	x.bulk("modules")
	x.array(0)
}

// mayEnter reports whether there is such a user: the default one, whatever the password.
func (x *call) mayEnter(user string) bool {
	if user != "default" {
		x.fail("WRONGPASS invalid username-password pair or user is disabled.")
	}
	return user == "default"
}

func auth(x *call, w []string) {
	switch {
	case len(w) > 3:
		x.fail(errSyntax)
	case len(w) == 2:
		x.fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case x.mayEnter(w[1]):
		x.ok()
	}
}

// wait is WAIT: there are no replicas.
func wait(x *call, w []string) {
	n, ok := x.int(w[1])
	if !ok {
		return
	}
	ms, ok := command.Integer(w[2])
	switch {
	case !ok:
		x.fail("ERR timeout is not an integer or out of range")
		return
	case ms < 0:
		x.fail("ERR timeout is negative")
		return
	case n > 0 && !x.inExec && ms == 0:
		x.c.delay = Forever
	case n > 0 && !x.inExec:
		x.c.delay = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	x.integer(0)
}

// rename gives the connection a name; false: it must not have it.
func (x *call) rename(name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }) {
		x.fail("ERR Client names cannot contain spaces, newlines or special characters.")
		return false
	}
	x.c.name = name
	return true
}

func setname(x *call, w []string) {
	if x.rename(w[2]) {
		x.ok()
	}
}

func getname(x *call, _ []string) {
	if x.c.name == "" {
		x.null()
		return
	}
	x.bulk(x.c.name)
}

func noEvict(x *call, w []string) {
	if strings.EqualFold(w[2], "on") || strings.EqualFold(w[2], "off") {
		x.ok()
		return
	}
	x.fail(errSyntax)
}

// address is what a connection's other end is called: the model has none.
func (c *Conn) address() string { return "127.0.0.1:" + strconv.FormatInt(10_000+c.id, 10) }

func (c *Conn) info() string {
	version := 2
	if c.v3 {
		version = 3
	}
	return fmt.Sprintf("id=%d addr=%s laddr=127.0.0.1:6379 fd=%d name=%s age=0 idle=0 flags=N db=0 sub=%d psub=%d ssub=0 multi=-1 "+
		"cmd=client|info user=default redir=-1 resp=%d\n", c.id, c.address(), 7+c.id, c.name, len(c.channels), len(c.patterns), version)
}

// kill is CLIENT KILL by number, address and what else picks clients.
func kill(x *call, w []string) {
	old := len(w) == 3
	if old {
		w = []string{w[0], w[1], "ADDR", w[2], "SKIPME", "no"}
	}
	picked := slices.Clone(x.n.conns)
	keep := func(which func(c *Conn) bool) {
		picked = slices.DeleteFunc(picked, func(c *Conn) bool { return !which(c) })
	}
	skipMe := true
	for i := 2; i < len(w); i += 2 {
		if i+1 == len(w) {
			x.fail(errSyntax)
			return
		}
		switch option, value := strings.ToUpper(w[i]), w[i+1]; option {
		case "ID":
			id, ok := command.Integer(value)
			if !ok || id < 1 {
				x.fail("ERR client-id should be greater than 0")
				return
			}
			keep(func(c *Conn) bool { return c.id == id })
		case "ADDR":
			keep(func(c *Conn) bool { return c.address() == value })
		case "SKIPME":
			if !strings.EqualFold(value, "yes") && !strings.EqualFold(value, "no") {
				x.fail(errSyntax)
				return
			}
			skipMe = strings.EqualFold(value, "yes")
		case "TYPE", "USER", "LADDR":
			x.n.unknown("CLIENT KILL " + option)
			fallthrough
		default:
			x.fail(errSyntax)
			return
		}
	}
	keep(func(c *Conn) bool { return !skipMe || c != x.c })
	for _, c := range picked {
		c.Close()
	}
	switch {
	case !old:
		x.count(len(picked))
	case len(picked) == 0:
		x.fail("ERR No such client")
	default:
		x.ok()
	}
}
