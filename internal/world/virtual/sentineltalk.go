package virtual

import (
	"net"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// sentinelTalk is what a built-in client and a sentinel that is a server say to each other over a connection.
type sentinelTalk struct {
	conn  *peerConn
	taken *ServerConn
	in    []byte
	// asked are called with the answers, in order. switched is called with the new primary when the sentinel tells of a switch.
	asked    []func(any)
	switched func(*Host)
}

var _ farEnd = (*sentinelTalk)(nil)

// dialSentinel begins to open a connection of a built-in client to a sentinel.
func (x *peerLink) dialSentinel(broke func()) *peerConn {
	p := x.dial(broke)
	h, is := x.ends[requests].(*Host)
	if !is { // a model is asked without words
		return p
	}
	t := &sentinelTalk{conn: p}
	p.talk = t
	p.onAccept = func() {
		if t.taken = h.process().accept(&ServerConn{from: x.name.From, far: t}); t.taken == nil {
			p.closeAtServer()
			return
		}
		p.onEnd = func() { t.taken.broke(false) }
	}
	return p
}

// ask sends the sentinel a command; told is called with the answer.
func (t *sentinelTalk) ask(told func(any), words ...string) {
	t.asked = append(t.asked, told)
	b := resp.AppendCommand(nil, words...)
	left := t.conn.link.w.s.now
	t.conn.requestSized(int64(len(b)), func() { t.taken.receive(b, left) })
}

// primary asks for the primary.
func (t *sentinelTalk) primary(told func(*Host)) {
	t.ask(func(v any) {
		if at, _ := v.([]any); len(at) == 2 {
			told(t.hostAt(at[0], at[1]))
		} else {
			told(nil)
		}
	}, "sentinel", "get-master-addr-by-name", world.Primary)
}

// subscribe asks to be told of switches.
func (t *sentinelTalk) subscribe(switched func(*Host)) {
	t.switched = switched
	t.ask(func(any) {}, "subscribe", sentinel.SwitchMaster)
}

// hostAt is the server at an address; nil: there is none.
func (t *sentinelTalk) hostAt(ip, port any) *Host {
	host, _ := ip.(string)
	number, _ := port.(string)
	w := t.conn.link.w
	return w.node(w.servers.HostAt(net.JoinHostPort(host, number)))
}

// push implements farEnd.
func (t *sentinelTalk) push(b []byte) {
	t.conn.answerSized(int64(len(b)), func() { t.arrived(b) })
}

// hangUp implements farEnd.
func (t *sentinelTalk) hangUp() { t.conn.closeAtServer() }

func (t *sentinelTalk) arrived(b []byte) {
	t.in = append(t.in, b...)
	for {
		v, n, err := resp.Parse(t.in)
		if err != nil { // the rest is still to come
			return
		}
		t.in = t.in[n:]
		if len(t.asked) > 0 {
			told := t.asked[0]
			t.asked = t.asked[1:]
			told(v.Plain())
		} else if event, ok := sentinel.Pushed(v.Plain()); ok {
			if to := t.hostAt(event.IP, event.Port); to != nil {
				t.switched(to)
			}
		}
	}
}
