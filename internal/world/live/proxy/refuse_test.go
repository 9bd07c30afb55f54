package proxy

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// TestRefusedByRedis: a real server answers what is refused with the error, in its place among the answers, and carries out nothing of it.
// A transaction in which a command was refused fails, and so does one whose EXEC comes when its commands are refused.
func TestRefusedByRedis(t *testing.T) {
	r := servertest.Start(t, 1_700_000_000)
	ctx := context.Background()
	const loading, readonly, aborted = "LOADING not yet", "READONLY no", "-EXECABORT Transaction discarded because of"
	const subscribed = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
	for name, c := range map[string]struct {
		by            string
		before, while string // what is sent before the fault, and while it lasts, command by command
		want          string
		left          string // what the key k has in the end
	}{
		"in a pipeline":    {loading, "", "PING;SET k v;ECHO x;GET k;HELLO 2", "-" + loading + ";-" + loading + ";x;-" + loading + ";*14", ""},
		"writes alone":     {readonly, "SET k 1", "GET k;SET k 2;DEL k;GET k", "OK;1;-" + readonly + ";-" + readonly + ";1", "1"},
		"in a transaction": {loading, "", "MULTI;SET k v;EXEC;ECHO x", "OK;-" + loading + ";" + aborted + " previous errors.;x", ""},
		"begun before":     {loading, "MULTI;SET k v", "EXEC;ECHO x", "OK;QUEUED;" + aborted + ": " + loading + ";x", ""},
		"reads in one":     {readonly, "SET k 1;MULTI;GET k", "EXEC", "OK;OK;QUEUED;*1", "1"},
		"a script":         {"NOSCRIPT no", "", "EVALSHA 0000000000000000000000000000000000000000 0;EVAL return(1) 0", "-NOSCRIPT no;1", ""},
		"in version 3":     {loading, "HELLO 3;CLIENT TRACKING ON;SET k v;GET k", "SET k w;ECHO x", "%7;OK;OK;v;-" + loading + ";x", "v"},
		"a subscriber is not": {loading, "", "SUBSCRIBE a b;PUBLISH a x;PING",
			"*3;*3;-ERR Can't execute 'publish': " + subscribed + ";-" + loading, ""},
	} {
		for _, piece := range []int{1, 1 << 20} {
			r.RDB.FlushAll(ctx)
			p := New()
			at, err := p.Open("c1", "A", func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(r.Dir, "socket"))
			}, &ConnReader{Refuses: true, Names: true, Go: func(f func()) { f() }})
			if err != nil {
				t.Fatal(err)
			}
			conn := dial(t, at)
			wants := strings.Split(c.want, ";")
			before := 0
			if c.before != "" {
				before = strings.Count(c.before, ";") + 1
			}
			got := say(t, conn, c.before, before, piece)
			_, err = p.Disturb(p.All(), world.Disturbance{Kind: world.Refuse, Direction: world.Requests, Error: c.by})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, say(t, conn, c.while, len(wants)-before, piece)...)
			if !slices.Equal(got, wants) {
				t.Errorf("%s, %d bytes at once:\n got %q\nwant %q", name, piece, got, wants)
			}
			if left := r.RDB.Get(ctx, "k").Val(); left != c.left {
				t.Errorf("%s: k has %q in the end, want %q", name, left, c.left)
			}
			p.Close()
		}
	}
}

// say sends commands in pieces, and returns the heads of so many answers.
func say(t *testing.T, conn net.Conn, commands string, answers, piece int) (got []string) {
	t.Helper()
	var b []byte
	for words := range strings.SplitSeq(commands, ";") {
		if words != "" {
			b = append(b, asSent(words)...)
		}
	}
	for part := range slices.Chunk(b, piece) {
		if _, err := conn.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	var in []byte
	for len(got) < answers {
		v, n, err := resp.Parse(in)
		if err == nil {
			got = append(got, headOf(in[:n], v))
			in = in[n:]
			continue
		}
		more := make([]byte, 4096)
		if n, err = conn.Read(more); err != nil {
			t.Fatalf("%s: %v, behind %q and %q", commands, err, got, in)
		}
		in = append(in, more[:n]...)
	}
	return got
}

// headOf is an answer, or of one with several parts how many they are.
func headOf(b []byte, v resp.Value) string {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	switch line[0] {
	case '*', '%', '-':
		return string(line)
	}
	if s, ok := v.Plain().(string); ok {
		return s
	}
	return string(line[1:])
}

// TestOneCommandIsRefused: the one that the run waits for, and no other. Its answer is none that a fault can wait for.
func TestOneCommandIsRefused(t *testing.T) {
	r := newReader(world.Pattern{Command: "SET"}, world.Pattern{Command: "SET", Kind: world.Answered})
	r.reader.Refuses = true
	var sent []byte
	var all []*asked
	for i, text := range []string{asSent("SET a 1"), asSent("SET b 2")} {
		p := r.read(false, []byte(text))
		if p.awaited == nil || !p.replaced {
			t.Fatalf("%q: %+v", text, p)
		}
		if i == 0 {
			if _, err := r.refuse(p.asked, "LOADING x"); err != nil {
				t.Fatal(err)
			}
		}
		sent, all = append(sent, p.instead...), append(all, p.asked)
	}
	if string(sent) != asSent("SET a 1")+asSent("SET b 2") {
		t.Errorf("it came as %q", sent)
	}
	if first, second := r.meet(all[0], ""), r.meet(all[1], ""); string(first) != asSent("GET") || second != nil {
		t.Errorf("they went on as %q and %q", first, second)
	}
	answer := []byte("-ERR wrong number of arguments for 'get' command\r\n")
	for _, piece := range [][]byte{answer[:5], answer[5:]} {
		p := r.read(true, piece)
		if p.awaited != nil || !p.replaced || len(p.instead) > 0 && string(p.instead) != "-LOADING x\r\n" {
			t.Errorf("the answer: %+v, %q", p, p.instead)
		}
	}
	if got := r.feed(true, "+OK\r\n", 1); !slices.Equal(got, []string{"SET b 2"}) {
		t.Errorf("what was answered: %q", got)
	}
}
