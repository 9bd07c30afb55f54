package process_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
)

// The thread that starts children lives as long as the program.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(suite.Live(m),
		goleak.IgnoreTopFunction("github.com/redlock-sim/redlock-sim/internal/machine.onStarterThread.func1.1"))
}

// talk is a conversation with a client over pipes.
type talk struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
}

func begin(t *testing.T) *talk {
	t.Helper()
	return beginWith(t, func(in io.Reader, out io.Writer) error { return process.Serve(in, out, io.Discard) })
}

func beginWith(t *testing.T, serve func(io.Reader, io.Writer) error) *talk {
	t.Helper()
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	k := &talk{t: t, in: in, lines: bufio.NewScanner(out), ended: make(chan error, 1)}
	go func() {
		err := serve(inRead, outWrite)
		_ = outWrite.Close()
		_ = inRead.Close()
		k.ended <- err
	}()
	t.Cleanup(func() { _ = in.Close(); _ = out.Close() })
	return k
}

// say sends lines, or messages.
func (k *talk) say(list ...any) {
	k.t.Helper()
	for _, m := range list {
		line, ok := m.(string)
		if !ok {
			b, err := json.Marshal(m)
			if err != nil {
				k.t.Fatal(err)
			}
			line = string(b)
		}
		if _, err := fmt.Fprintln(k.in, line); err != nil {
			k.t.Fatalf("failed to say %s: %v", line, err)
		}
	}
}

// hear reads the next message.
func (k *talk) hear(want client.MessageType) (m client.Message) {
	k.t.Helper()
	var heard bool
	suite.Returns(k.t, "the message "+string(want), func() { heard = k.lines.Scan() })
	if !heard {
		k.t.Fatalf("heard the end (%v): want %s", k.lines.Err(), want)
	}
	if err := json.Unmarshal(k.lines.Bytes(), &m); err != nil || m.Type != want {
		k.t.Fatalf("heard %s (%v): want %s", k.lines.Bytes(), err, want)
	}
	return m
}

// end is what the client ends with.
func (k *talk) end() error {
	k.t.Helper()
	return suite.Receive(k.t, "the end of the client", k.ended)
}

// setup is for a client whose only node, and whose resource, nobody serves.
func setup(t *testing.T, points ...string) client.Message {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	return client.Message{Type: client.Setup, Setup: &client.SetupMessage{
		Protocol: client.ProtocolVersion, Client: "c1", Seed: 1, Points: points,
		Lock:     lock.Config{Algorithm: "set-nx-px", Key: "lock", TTL: time.Second, NodeTimeout: 50 * time.Millisecond},
		Resource: resource.Config{Kind: resource.Register, Key: "r", Fence: resource.NoFence},
		Nodes:    []client.Address{{Name: "A", Address: nobody}}, Store: client.Address{Name: "resource", Address: nobody},
		StoreTimeout: 50 * time.Millisecond,
	}}
}

func ask(id uint64, f history.F) client.Message {
	return client.Message{Type: client.Ask, ID: id, Request: &client.Request{F: f, Section: 1}}
}

func TestRequestsAreAnsweredUnderTheirNumber(t *testing.T) {
	k := begin(t)
	k.say(setup(t))
	if m := k.hear(client.Ready); m.Protocol != client.ProtocolVersion {
		t.Errorf("ready: %+v", m)
	}
	k.say(ask(7, history.Acquire))
	if m := k.hear(client.Answered); m.ID != 7 || m.Answer == nil ||
		m.Answer.Type != history.Fail || !strings.Contains(m.Answer.Error, "connection refused") {
		t.Errorf("acquire without a node: %+v", m)
	}
	k.say(ask(8, history.Release))
	if m := k.hear(client.Answered); m.ID != 8 || m.Answer.Type != history.Fail || m.Answer.Error != "nothing to release" {
		t.Errorf("release: %+v", m)
	}
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Errorf("the end of the input is no error: %v", err)
	}
}

func TestClientWaitsAtArmedPoints(t *testing.T) {
	k := begin(t)
	k.say(setup(t, workload.BeforeRelease))
	k.hear(client.Ready)
	k.say(ask(1, history.Release))
	at := k.hear(client.AtPoint)
	if at.Point != workload.BeforeRelease || at.ID == 0 {
		t.Errorf("point: %+v", at)
	}
	// The clock can be moved meanwhile; the answer to that must come first.
	k.say(client.Message{Type: client.Go, ID: at.ID + 100},
		client.Message{Type: client.SetClock, ID: 2, Clock: &client.ClockMessage{Which: client.WallClock, Jump: time.Hour, Rate: 1}})
	if m := k.hear(client.ClockSet); m.ID != 2 {
		t.Errorf("clock: %+v", m)
	}
	k.say(client.Message{Type: client.Go, ID: at.ID})
	if m := k.hear(client.Answered); m.ID != 1 {
		t.Errorf("answer: %+v", m)
	}
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

func TestEndOfInputBeforeTheSetup(t *testing.T) {
	k := begin(t)
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

func TestBadSetupIsNamedToBothSides(t *testing.T) {
	changed := func(f func(*client.SetupMessage)) client.Message {
		m := setup(t)
		f(m.Setup)
		return m
	}
	for want, m := range map[string]any{
		"protocol version 99: this client speaks 1": changed(func(s *client.SetupMessage) { s.Protocol = 99 }),
		"protocol version 0":                        changed(func(s *client.SetupMessage) { s.Protocol = 0 }),
		`no lock algorithm "magic"`:                 changed(func(s *client.SetupMessage) { s.Lock.Algorithm = "magic" }),
		"cannot use 0 nodes":                        changed(func(s *client.SetupMessage) { s.Nodes = nil }),
		`the first message is "request"`:            ask(1, history.Acquire),
		`the first message is "setup"`:              client.Message{Type: client.Setup},
		"failed to read the setup message":          "rubbish",
		"failed to read the setup message: ":        `{"type":"setup","setup":{"protocol":"one"}}`,
	} {
		k := begin(t)
		k.say(m)
		if told := k.hear(client.Failed); !strings.Contains(told.Error, want) {
			t.Errorf("told %q, want %q", told.Error, want)
		}
		if err := k.end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ended with %v, want %q", err, want)
		}
	}
}

func TestBrokenProtocolEndsTheClient(t *testing.T) {
	for want, line := range map[string]string{
		"failed to read a message":            "{",
		"a request message without a request": `{"type":"request","id":1}`,
		"a clock message without a clock":     `{"type":"clock","id":1}`,
		`unexpected message "dance"`:          `{"type":"dance"}`,
		"token too long":                      `{"type":"` + strings.Repeat("x", client.MaxMessage) + `"}`,
	} {
		k := begin(t)
		k.say(setup(t))
		k.hear(client.Ready)
		go func() { _, _ = fmt.Fprintln(k.in, line) }()
		if told := k.hear(client.Failed); !strings.Contains(told.Error, want) {
			t.Errorf("told %q, want %q", told.Error, want)
		}
		if err := k.end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ended with %v, want %q", err, want)
		}
	}
}
