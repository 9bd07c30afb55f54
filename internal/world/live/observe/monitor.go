package observe

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// monitor reads the MONITOR stream of a node over a connection of its own, past
// all proxies: every command the server carried out, in its order.
type monitor struct {
	conn net.Conn
	// since is when it began, on the machine's monotonic clock.
	since time.Duration
	// marks are what waits for the ECHO of a text, so that the reader of the
	// stream can be waited for.
	marks sync.Map
	ended chan struct{}
	// followed: another stream is open in its place, or none will be.
	followed chan struct{}
	// watch follows the lock's keys in the stream; nil: nobody does.
	watch *nodeWatch
}

// monitored is one command of the stream.
type monitored struct {
	keylog.Line
	// at is the node's own clock, counted from 1970.
	at time.Duration
	// source is the address of the connection, or "lua".
	source string
	// window is when it was carried out, where nothing but the stream and the key's state says so.
	window command.Span
	// step is the same for all lines of a command, a script or a transaction; more: others of them may follow.
	step int
	more bool
	// since is when the stream began, on the machine's monotonic clock.
	since time.Duration
}

// openMonitor starts the stream. see is called for every command, in order, but for marks, marked before it is said that
// a mark has come, and end after the last.
func openMonitor(d server.Door, see func(monitored), marked, end func()) (*monitor, error) {
	conn, err := d.Monitor()
	if err != nil {
		return nil, err
	}
	m := &monitor{conn: conn, since: machine.Monotonic(), ended: make(chan struct{})}
	go m.read(bufio.NewReaderSize(conn, 1<<16), see, marked, end)
	return m, nil
}

func (m *monitor) read(lines *bufio.Reader, see func(monitored), marked, end func()) {
	defer close(m.ended)
	defer end()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		c, err := parseMonitored(strings.TrimRight(line, "\r\n"))
		if err != nil {
			continue // not a command: the server's own talk
		}
		c.since = m.since
		if len(c.Args) == 2 && strings.EqualFold(c.Args[0], "echo") {
			if shown, waited := m.marks.LoadAndDelete(c.Args[1]); waited {
				marked()
				close(shown.(chan struct{}))
			}
			continue
		}
		see(c)
	}
}

// mark is a text that no ECHO had before, and what is closed when the stream shows it.
func (m *monitor) mark() (text string, shown <-chan struct{}) {
	text, c := rand.Text(), make(chan struct{})
	m.marks.Store(text, c)
	return text, c
}

func (m *monitor) Close() {
	_ = m.conn.Close()
	<-m.ended
}

// parseMonitored reads a line such as
//
//	+1339518083.107412 [0 127.0.0.1:60866] "set" "k" "a\"b"
func parseMonitored(line string) (monitored, error) {
	rest, ok := strings.CutPrefix(line, "+")
	stamp, rest, ok2 := strings.Cut(rest, " [")
	origin, rest, ok3 := strings.Cut(rest, "] ")
	number, source, ok4 := strings.Cut(origin, " ")
	if !ok || !ok2 || !ok3 || !ok4 {
		return monitored{}, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	sec, micro, _ := strings.Cut(stamp, ".")
	s, err := strconv.ParseUint(sec, 10, 33)
	if err != nil {
		return monitored{}, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	us, err := strconv.ParseUint(micro, 10, 32)
	if err != nil {
		return monitored{}, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	db, err := strconv.Atoi(number)
	if err != nil {
		return monitored{}, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	args, err := parseQuoted(rest)
	if err != nil || len(args) == 0 {
		return monitored{}, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	return monitored{
		Line: keylog.Line{DB: db, Args: args},
		at:   time.Duration(s)*time.Second + time.Duration(us)*time.Microsecond, source: source,
	}, nil
}

// parseQuoted reads words in the quoting of Redis's sdscatrepr.
func parseQuoted(s string) ([]string, error) {
	var words []string
	for s != "" {
		if s[0] == ' ' {
			s = s[1:]
			continue
		}
		word, rest, err := unquote(s)
		if err != nil {
			return nil, err
		}
		words, s = append(words, word), rest
	}
	return words, nil
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b', '\\': '\\', '"': '"'}

func unquote(s string) (word, rest string, err error) {
	if s[0] != '"' {
		return "", "", fmt.Errorf("no quote at %q", s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], nil
		case s[i] != '\\':
			b.WriteByte(s[i])
		case i+3 < len(s) && s[i+1] == 'x':
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				return "", "", fmt.Errorf("bad escape at %q", s[i:])
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s) && escapes[s[i+1]] != 0:
			b.WriteByte(escapes[s[i+1]])
			i++
		default:
			return "", "", fmt.Errorf("bad escape at %q", s[i:])
		}
	}
	return "", "", fmt.Errorf("no end of the quote in %q", s)
}
