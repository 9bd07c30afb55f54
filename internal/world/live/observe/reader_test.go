package observe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Of what a real server refuses, queues, discards and hides, each line of MONITOR is known to be of one command, in their order,
// and none is left over.
func TestLinesOfARealServer(t *testing.T) {
	address, admin := startRedis(t)
	ctx := context.Background()

	links, reader := proxy.New(), &proxy.ConnReader{Names: true}
	t.Cleanup(links.Close)
	dial := func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", address) }
	at, err := links.Open("c1", "A", dial, reader)
	if err != nil {
		t.Fatal(err)
	}
	names, last, known := make(connectionNames), time.Duration(0), 0
	var unknown []string
	m, err := openMonitor(server.Door{Address: address}, func(c monitored) {
		if _, known := names[c.source]; !known && c.source != "lua" { // Redis 6 shows no CLIENT SETNAME
			names[c.source] = ""
			names.learnList(admin.ClientList(ctx).Val())
		}
		_, ours := proxy.ClientOf(names[c.source])
		left, found := reader.LeftAt(names[c.source], c.Args, c.since)
		if !ours || strings.EqualFold(c.Args[0], "client") {
			return
		}
		switch {
		case !found:
			unknown = append(unknown, strings.Join(c.Args, " "))
		case left < last:
			t.Errorf("%q left before the line above", c.Args)
		default:
			last, known = left, known+1
		}
	}, func() {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	sends, answers := sendRandomly(t, at, func(words ...any) { admin.Do(ctx, words...) })
	mark, shown := m.mark()
	admin.Echo(ctx, mark)
	suite.Receive(t, "a mark in the stream", shown)
	for _, words := range unknown {
		if !strings.HasPrefix(words, "EVAL #!lua") && words != "HSET h f" { // their errors do not say whether they ran
			t.Errorf("not known: %s", words)
		}
	}
	if known < sends/4 || len(unknown) > known/10 {
		t.Errorf("of %d commands %d are known, %d not", sends, known, len(unknown))
	}
	for _, want := range []string{"NOREPLICAS", "OOM", "QUEUED", "EXECABORT", "NOSCRIPT", "ERR"} {
		if !answers[want] {
			t.Errorf("no answer was %s", want)
		}
	}
}

// sendRandomly sends commands in pipelines while others change what the server lets them do. It returns how many they are, and the
// first words of their answers.
func sendRandomly(t *testing.T, address string, do func(words ...any)) (sends int, answers map[string]bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(suite.Patience))
	pool := [][]string{{"MULTI"}, {"EXEC"}, {"EXEC"}, {"DISCARD"}, {"WATCH", "k"}, {"SET", "k", "v"}, {"SET", "k", "v"}, {"SET", "k", "v"},
		{"SET", "k", "v", "NX", "PX", "5"}, {"GET", "k"}, {"HSET", "h", "f"}, {"SAT"}, {"SET", "k"}, {"LPUSH", "k", "e"},
		{"EVAL", "return redis.call('set','k','v')", "0"}, {"EVAL", "#!lua\nreturn redis.call('set','k','v')", "0"},
		{"EVALSHA", strings.Repeat("0", 40), "0"}, {"BLPOP", "l", "0.002"}, {"LPUSH", "l", "e"}, {"CLIENT", "NO-EVICT", "off"},
		{"CONFIG", "GET", "port"}, {"DEBUG", "SLEEP", "0"}, {"GET", strings.Repeat("x", 70000)}}
	r := rand.New(rand.NewPCG(7, 7))
	answers = make(map[string]bool)
	var unread []byte
	buf := make([]byte, 1<<16)
	for range 2000 {
		switch r.IntN(12) {
		case 0:
			do("CONFIG", "SET", "min-replicas-to-write", fmt.Sprint(r.IntN(2)))
		case 1:
			do("CONFIG", "SET", "maxmemory", fmt.Sprint(r.IntN(2)))
		case 2:
			do("SET", "k", "other")
		}
		var batch []byte
		n := 1 + r.IntN(5)
		for range n {
			batch = resp.AppendCommand(batch, pool[r.IntN(len(pool))]...)
		}
		sends += n
		if _, err := c.Write(batch); err != nil {
			t.Fatal(err)
		}
		for n > 0 {
			v, size, err := resp.Parse(unread)
			if err == nil {
				first, _, _ := strings.Cut(v.Text, " ")
				answers[first] = true
				unread, n = unread[size:], n-1
				continue
			}
			read, err2 := c.Read(buf)
			if !errors.Is(err, resp.ErrShort) || err2 != nil {
				t.Fatal(err, err2)
			}
			unread = append(unread, buf[:read]...)
		}
	}
	return sends, answers
}
