package observe

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// stream is the MONITOR stream of a node over a connection of its own, past
// all proxies: every command the server carried out, in its order.
type stream struct {
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
func openMonitor(d server.Door, see func(monitored), marked, end func()) (*stream, error) {
	conn, err := d.Monitor()
	if err != nil {
		return nil, err
	}
	m := &stream{conn: conn, since: machine.Monotonic(), ended: make(chan struct{})}
	go m.read(bufio.NewReaderSize(conn, 1<<16), see, marked, end)
	return m, nil
}

func (m *stream) read(lines *bufio.Reader, see func(monitored), marked, end func()) {
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
func (m *stream) mark() (text string, shown <-chan struct{}) {
	text, c := rand.Text(), make(chan struct{})
	m.marks.Store(text, c)
	return text, c
}

func (m *stream) Close() {
	_ = m.conn.Close()
	<-m.ended
}

// parseMonitored reads a line as the server sends it.
func parseMonitored(line string) (monitored, error) {
	text, ok := strings.CutPrefix(line, "+")
	if !ok {
		return monitored{}, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	l, err := monitor.Parse(text)
	return monitored{Line: keylog.Line{DB: l.DB, Args: l.Args}, at: l.At, source: l.Source}, err
}
