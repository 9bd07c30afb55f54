package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// node is a server that writes down the commands that come, and answers each with its
// number.
func node(t *testing.T) (address string, got <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	commands := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				var unread []byte
				buf := make([]byte, 4096)
				for n := 0; ; {
					v, size, err := resp.Parse(unread)
					if err == nil {
						unread = unread[size:]
						var words []string
						for _, one := range v.List {
							words = append(words, one.Text)
						}
						commands <- strings.Join(words, " ")
						n++
						_, _ = fmt.Fprintf(c, ":%d\r\n", n)
						continue
					}
					read, err := c.Read(buf)
					if err != nil {
						return
					}
					unread = append(unread, buf[:read]...)
				}
			}()
		}
	}()
	return l.Addr().String(), commands
}

func TestLinkNamesAndReadsConnections(t *testing.T) {
	address, got := node(t)
	p, reader := New(), &ConnReader{Names: true}
	defer p.Close()
	at, err := p.Open("c1", "A", to(address), reader)
	if err != nil {
		t.Fatal(err)
	}
	lift, err := p.Disturb([]world.Link{{From: "c1", To: "A"}}, world.Disturbance{Kind: world.Latency, Latency: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lift() }()
	for n := 1; n <= 3; n++ {
		c := dial(t, at)
		name := fmt.Sprintf("c1#%d", n)
		if first := suite.Receive(t, "a command", got); first != "CLIENT SETNAME "+name {
			t.Fatalf("the first command is %q", first)
		}
		before := machine.Monotonic()
		set := resp.AppendCommand(nil, "SET", "lock", "a\r\nb", "NX")
		if _, err := c.Write(append(resp.AppendCommand(nil, "HELLO", "3", "SETNAME", "me"),
			resp.AppendCommand(nil, "client", "setname", "me")...)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"HELLO 3 SETNAME " + name, "client setname " + name} {
			if command := suite.Receive(t, want, got); command != want {
				t.Errorf("%q, want %q", command, want)
			}
		}
		for _, part := range [][]byte{set[:7], append(set[7:], resp.AppendCommand(nil, "GET", "lock")...),
			resp.AppendCommand(nil, "GET", "lock")} {
			if _, err := c.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"SET lock a\r\nb NX", "GET lock", "GET lock"} {
			if command := suite.Receive(t, want, got); command != want {
				t.Errorf("%q, want %q", command, want)
			}
		}
		answers := bufio.NewReader(c)
		for want := 2; want <= 6; want++ { // that to the link's own command is not for the client
			if line, err := answers.ReadString('\n'); line != fmt.Sprintf(":%d\r\n", want) {
				t.Errorf("%q, %v: want %d", line, err, want)
			}
		}
		if _, known := reader.LeftAt(name, []string{"SET", "lock", "a\r\nbNX"}, 0); known {
			t.Error("a command of other words left")
		}
		for _, words := range [][]string{{"SET", "lock", "a\r\nb", "NX"}, {"GET", "lock"}, {"GET", "lock"}} {
			left, known := reader.LeftAt(name, words, 0)
			if !known || left < before || left > machine.Monotonic() {
				t.Errorf("%q left at %v, %v: sent after %v", words, left, known, before)
			}
			before = left + 1
		}
		for _, words := range [][]string{{"SET", "lock", "a\r\nb", "NX"}, {"GET", "lock"}} {
			if _, known := reader.LeftAt(name, words, 0); known {
				t.Errorf("%q left twice", words)
			}
		}
		_ = c.Close()
	}
}

// TestConnectionsAreKnownByTheirEnds: the node may refuse the name, or not say it yet.
func TestConnectionsAreKnownByTheirEnds(t *testing.T) {
	p, reader := New(), &ConnReader{Names: true}
	defer p.Close()
	from, addresses := make(chan string, 2), make(map[string]string)
	for _, name := range []string{"A", "B"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		addresses[name] = l.Addr().String()
		at, err := p.Open("c1", name, to(l.Addr().String()), reader)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				from <- c.RemoteAddr().String()
			}
		}()
		dial(t, at)
		source := suite.Receive(t, "a connection", from)
		want := fmt.Sprintf("c1#%d", len(addresses))
		suite.Eventually(t, "the name "+want, func() bool { return reader.NameAt(source, addresses[name]) == want })
		if got := reader.NameAt(source, "127.0.0.1:1"); got != "" {
			t.Errorf("to another node: %q", got)
		}
	}
	if got := reader.NameAt("127.0.0.1:1", addresses["A"]); got != "" {
		t.Errorf("from another address: %q", got)
	}
}

// Whatever holds messages on their way to the client, or back, they are read when they come.
func TestHeldMessagesAreRead(t *testing.T) {
	address, got := node(t)
	p, held, release := New(), make(chan string), make(chan bool)
	reader := &ConnReader{Names: true, Awaits: world.Patterns{{Command: "DEL"}, {Command: "GET", Kind: world.Answered}},
		Go:      func(f func()) { go f() },
		Message: func(m world.Message) { held <- m.Words[0]; <-release }}
	defer p.Close()
	at, err := p.Open("c1", "A", to(address), reader)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, at)
	next := func(want string) {
		t.Helper()
		if first := suite.Receive(t, want, got); first != want {
			t.Fatalf("%q comes, want %q", first, want)
		}
	}
	send := func(words ...string) {
		t.Helper()
		for _, one := range words {
			if _, err := io.WriteString(c, asSent(one)); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func(words string) time.Duration {
		t.Helper()
		at, known := reader.LeftAt("c1#1", strings.Fields(words), 0)
		if !known {
			t.Errorf("%s is not known", words)
		}
		return at
	}
	next("CLIENT SETNAME c1#1")
	lift, err := p.Disturb([]world.Link{{From: "c1", To: "A"}}, world.Disturbance{Kind: world.Hold, Direction: world.Answers})
	if err != nil {
		t.Fatal(err)
	}
	send("SET k v", "SET k v")
	next("SET k v")
	next("SET k v")
	if first := left("SET k v"); left("SET k v") <= first { // which of the two it is, their answers tell
		t.Error("the second left before the first")
	}
	_ = lift()
	send("GET k", "SET l v", "SET l v")
	suite.Receive(t, "the answer to GET", held)
	left("GET k")
	next("GET k")
	next("SET l v")
	next("SET l v")
	left("SET l v")
	left("SET l v")
	release <- true
	send("DEL k", "SET m v")
	suite.Receive(t, "DEL", held)
	suite.Eventually(t, "SET behind DEL", func() bool { return reader.waiting.Load() == 2 })
	before := machine.Monotonic()
	release <- true
	next("DEL k")
	next("SET m v")
	left("DEL k")
	if at := left("SET m v"); at > before {
		t.Errorf("SET left when DEL was let go")
	}
}

// What is not the protocol of Redis passes as it is, and is not read.
func TestLinkPassesWhatItCannotRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p, reader := New(), &ConnReader{Names: true}
	defer p.Close()
	at, err := p.Open("c1", "A", to(l.Addr().String()), reader)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, at)
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(suite.Patience))
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	_ = s.SetDeadline(time.Now().Add(suite.Patience))
	preface := resp.AppendCommand(nil, "CLIENT", "SETNAME", "c1#1")
	if _, err := c.Write([]byte("what is  this\"\r\n")); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, len(preface)+16)
	if _, err := io.ReadFull(s, text); err != nil || string(text) != string(preface)+"what is  this\"\r\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := s.Write([]byte("what is this?\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 15)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "what is this?\r\n" {
		t.Errorf("%q, %v", answer, err)
	}
	if _, known := reader.LeftAt("c1#1", []string{"what", "is", "this\""}, 0); known {
		t.Error("it was read")
	}
}

func TestClientOf(t *testing.T) {
	for name, want := range map[string]string{"c1#7": "c1", "c1": "", "c1#x": "", "": "", "c1#": ""} {
		if client, link := ClientOf(name); link != (want != "") || link && client != want {
			t.Errorf("%q: %q, %v", name, client, link)
		}
	}
}
