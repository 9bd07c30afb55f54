package observe

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func TestMain(m *testing.M) { os.Exit(suite.Live(m).Run()) }

type fits string

func (f fits) Fit(key string) bool { return strings.HasPrefix(key, string(f)) }

// startRedis starts a server, and returns its address and an administrator's client.
func startRedis(t *testing.T, args ...string) (string, *redis.Client) {
	t.Helper()
	binary, err := server.FindRedis("")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	var admin *redis.Client
	var address string
	err = machine.OnFreePort(func(port int) error {
		address = fmt.Sprintf("127.0.0.1:%d", port)
		words := append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", ""}, args...)
		if slices.Contains(args, "--cluster-enabled") { // the bus of a cluster is 10,000 above, where outgoing connections have their ports
			words = append(words, "--cluster-port", fmt.Sprint(port-10_000))
		}
		child, err := machine.Start("redis-server", exec.Command(binary, words...))
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = child.Kill(); machine.ReturnPort(port) })
		admin = redis.NewClient(&redis.Options{Addr: address, Protocol: 2, DisableIdentity: true})
		t.Cleanup(func() { _ = admin.Close() })
		suite.Succeeds(t, "an answer of redis-server", func() error { return admin.Ping(t.Context()).Err() })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return address, admin
}

// looking looks at a server, until end is called, which returns what it came to.
type looking struct {
	mu    sync.Mutex
	notes []string
	found []string
}

func (l *looking) noted(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.notes, func(note string) bool { return strings.Contains(note, text) })
}

func (l *looking) finds(kind keystory.Kind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.found, string(kind))
}

// start begins a look at keys with the prefix lock.
func start(t *testing.T, s Server, record io.Writer) (l *looking, end func() *keystory.Story) {
	t.Helper()
	l = &looking{}
	ctx, cancel := context.WithCancel(t.Context())
	look := Live{Server: s, Record: record, Story: keystory.Options{Keys: fits("lock"), Moments: 100},
		Note: func(text string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.notes = append(l.notes, text)
		}}
	look.Story.Tell = func(_ *keystory.Lock, f *keystory.Finding) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !f.Question { // a look that begins in the midst only asks
			l.found = append(l.found, string(f.Kind))
		}
	}
	type result struct {
		story *keystory.Story
		err   error
	}
	done := make(chan result, 1)
	go func() {
		story, err := look.Look(ctx)
		done <- result{story, err}
	}()
	return l, func() *keystory.Story {
		t.Helper()
		cancel()
		r := suite.Receive(t, "the end of the look", done)
		if r.err != nil {
			t.Fatal(r.err)
		}
		return r.story
	}
}

func readGuide(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/guide/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// leastRights are the rights that the guide names for a user of sim observe.
func leastRights(t *testing.T, rule string) string {
	t.Helper()
	for line := range strings.Lines(readGuide(t)) {
		if rule, ok := strings.CutPrefix(line, rule); ok {
			return strings.TrimSpace(rule)
		}
	}
	t.Fatal("docs/guide/observe.md names no rights")
	return ""
}

// A look sends nothing but what the guide names: a user who may do nothing else can look, and the server has refused it nothing.
func TestLeastRights(t *testing.T) {
	guide := readGuide(t)
	const observer, events = "ACL SETUSER observer ", "ACL SETUSER events "
	for rule, besides := range map[string][]string{observer: SendsMonitor, events: SendsEvents} {
		everybody := func(name string) bool { return name == "AUTH" || name == "HELLO" }
		list := slices.DeleteFunc(slices.Concat(Sends, besides), everybody)
		rights := leastRights(t, rule)
		for _, name := range list {
			right := "+" + strings.ToLower(strings.ReplaceAll(name, " ", "|"))
			if !slices.Contains(strings.Fields(rights), right) {
				t.Errorf("%s lacks %s", rule, name)
			}
		}
		if got := strings.Count(rights, "+"); got != len(list) {
			t.Errorf("the guide gives %d rights, and %d are needed: %s", got, len(list), rights)
		}
	}
	for _, name := range slices.Concat(Sends, SendsMonitor, SendsEvents, SendsSentinel) {
		if !strings.Contains(guide, "`"+name+"`") {
			t.Errorf("the guide lacks %s", name)
		}
	}
	rights := leastRights(t, observer)
	address, admin := startRedis(t, "--databases", "4")
	ctx := t.Context()
	words := []any{"ACL", "SETUSER", "observer"}
	for word := range strings.FieldsSeq(strings.NewReplacer(">PASSWORD", ">secret", "'", "").Replace(rights)) {
		words = append(words, word)
	}
	if err := admin.Do(ctx, words...).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: address, DB: 2})
	t.Cleanup(func() { _ = client.Close() })
	var record strings.Builder
	l, end := start(t, Server{Address: address, Username: "observer", Password: "secret", DB: 2}, &record)
	suite.Eventually(t, "a finding", func() bool {
		client.HSet(ctx, "lock:hash", "owner", 1)
		client.Set(ctx, "lock:a", "b", time.Minute)
		client.SetNX(ctx, "lock:a", "a", time.Minute)
		client.Del(ctx, "lock:a", "lock:hash")
		return l.finds(keystory.NotCompared)
	})
	if story := end(); story.Undecided() {
		t.Error("the look saw no lock")
	}
	if log := admin.Do(ctx, "ACL", "LOG").Val(); len(log.([]any)) != 0 {
		t.Errorf("the server refused something: %v", log)
	}
	if denied := admin.Do(ctx, "ACL", "DRYRUN", "observer", "SET", "lock:a", "x").Val(); denied == "OK" {
		t.Error("the rights of the guide let its user write")
	}
	// What was recorded can be read again.
	path := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(path, []byte(record.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	again := keystory.New(keystory.Options{Keys: fits("lock"), Moments: 100})
	if _, err := File(ctx, path, nil, again); err != nil || len(again.Locks()) != 2 {
		t.Errorf("%v, and %d locks, of\n%s", err, len(again.Locks()), &record)
	}
}

// Nothing that is not on the list leaves.
func TestNothingElseIsSent(t *testing.T) {
	for _, words := range [][]string{{"SET", "a", "b"}, {"DEL", "a"}, {"CLIENT", "KILL", "x"}, {"EVAL", "x", "0"}, {"CONFIG", "SET", "x", "y"},
		{"CLUSTER", "SETSLOT"}, {"SENTINEL", "FAILOVER"}} {
		c := &connection{sends: slices.Concat(Sends, SendsMonitor, SendsEvents, SendsSentinel)}
		if _, err := c.ask(words); err == nil || !strings.Contains(err.Error(), "no command of a look") {
			t.Errorf("%v: %v", words, err)
		}
	}
}

// A wrong password is told, and is in no message.
func TestWrongPassword(t *testing.T) {
	address, admin := startRedis(t)
	if err := admin.ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	look := Live{Server: Server{Address: address, Password: "guessed"}, Story: keystory.Options{Keys: fits("")}, Note: func(string) {}}
	_, err := look.Look(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refuses AUTH") || strings.Contains(err.Error(), "guessed") {
		t.Errorf("%v", err)
	}
}

// Where the server closes the connection, the look goes on, and what was not seen is not guessed.
func TestConnectionEnds(t *testing.T) {
	address, admin := startRedis(t)
	ctx := t.Context()
	l, end := start(t, Server{Address: address}, nil)
	suite.Eventually(t, "a finding", func() bool {
		admin.SetNX(ctx, "lock:a", "a", time.Minute)
		admin.Del(ctx, "lock:a")
		return l.finds(keystory.NotCompared)
	})
	admin.SetNX(ctx, "lock:b", "b", time.Minute)
	if err := admin.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	admin.Del(ctx, "lock:b")
	suite.Eventually(t, "another connection", func() bool { return l.noted("is open again") })
	suite.Eventually(t, "a lock that is seen", func() bool {
		admin.Set(ctx, "lock:c", "c", time.Minute)
		admin.Set(ctx, "lock:c", "d", time.Minute)
		return l.finds(keystory.OverwrittenKey)
	})
	for _, k := range end().Locks() {
		for _, f := range k.Findings {
			if k.Key == "lock:b" && !f.Question {
				t.Errorf("what was not seen is a finding: %s", k.Line(f))
			}
		}
	}
}

// Where the server is gone at the end, that is told, and so is what was seen. A user who may not read keys is told so.
func TestServerIsGone(t *testing.T) {
	address, admin := startRedis(t)
	ctx, cancel := context.WithCancel(t.Context())
	rights := []any{"ACL", "SETUSER", "observer", "on", ">secret", "-@all", "+select", "+client", "+info", "+monitor"}
	if err := admin.Do(ctx, rights...).Err(); err != nil {
		t.Fatal(err)
	}
	notes := make(chan string, 1000)
	look := Live{Server: Server{Address: address, Username: "observer", Password: "secret"}, Note: func(text string) { notes <- text }}
	look.Story = keystory.Options{Keys: fits("lock"), Moments: 100}
	noted := func(want string) {
		suite.Eventually(t, want, func() bool {
			admin.SetNX(ctx, "lock:a", "a", time.Minute)
			select {
			case text := <-notes:
				return strings.Contains(text, want)
			default:
				return false
			}
		})
	}
	var story *keystory.Story
	done := make(chan error, 1)
	go func() {
		s, err := look.Look(ctx)
		story = s
		done <- err
	}()
	noted("refuses to say what keys hold (NOPERM")
	_ = admin.ShutdownNoSave(ctx)
	noted("what is done until it is open again is not seen")
	cancel()
	var gone *GoneError
	if err := suite.Receive(t, "the end of the look", done); !errors.As(err, &gone) || story == nil || len(story.Locks()) != 1 {
		t.Errorf("%v, and the story %v", err, story)
	}
}

// In windows what happens in them is found, also on a server that is busy, and nobody is accused by what lies across the time between.
func TestSample(t *testing.T) {
	address, admin := startRedis(t)
	ctx := t.Context()
	l := &Looks{Live: Live{Window: 200 * time.Millisecond, Every: 600 * time.Millisecond, MostOps: 1}}
	l.Places = []Place{{Server: Server{Address: address}}}
	w, end := lookAt(t, l)
	watched := func(is bool) {
		suite.Eventually(t, fmt.Sprintf("a look: %v", is), func() bool {
			list, _ := admin.Do(ctx, "CLIENT", "LIST").Val().(string)
			return strings.Contains(list, "cmd=monitor") == is
		})
	}
	suite.Eventually(t, "a finding", func() bool {
		admin.SetNX(ctx, "lock:a", "a", time.Minute)
		admin.Del(ctx, "lock:a")
		return w.finds("lock:a", "[deleted-without-comparing]")
	})
	for range 3 {
		watched(true)
		admin.SetNX(ctx, "lock:b", "b", time.Minute)
		watched(false)
		admin.Del(ctx, "lock:b")
	}
	watched(true)
	seen, _ := end()
	if w.finds("lock:b") {
		t.Errorf("somebody is accused by what nobody saw:\n%s", w.all())
	}
	if notes := seen[0].Story.Notes; len(notes) != 1 || !strings.Contains(notes[0], "what was done between them is left out") {
		t.Errorf("%v", notes)
	}
}

// A server that is too busy for MONITOR is left alone.
func TestTooBusy(t *testing.T) {
	address, admin := startRedis(t)
	suite.Eventually(t, "a busy server", func() bool {
		for range 100 {
			admin.Ping(t.Context())
		}
		return !strings.Contains(admin.Info(t.Context(), "stats").Val(), "instantaneous_ops_per_sec:0")
	})
	look := Live{Server: Server{Address: address}, MostOps: 1, Story: keystory.Options{Keys: fits("")}, Note: func(string) {}}
	var busy *TooBusyError
	if _, err := look.Look(t.Context()); !errors.As(err, &busy) || busy.Most != 1 {
		t.Errorf("%v", err)
	}
	if monitors := admin.Do(t.Context(), "CLIENT", "LIST").Val().(string); strings.Contains(monitors, "sim-observe") {
		t.Errorf("the look left a connection: %s", monitors)
	}
}

// forward passes connections on to an address.
func forward(listener net.Listener, address string) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", address)
		if err != nil {
			_ = in.Close()
			continue
		}
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	}
}

// A server with TLS is known by its certificate.
func TestTLS(t *testing.T) {
	address, admin := startRedis(t)
	ours := httptest.NewTLSServer(nil)
	defer ours.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: ours.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go forward(listener, address)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := Live{Server: Server{Address: listener.Addr().String(), TLS: true}, Note: func(string) {}}
	stranger.Story.Keys = fits("")
	if _, err := stranger.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody trusts: %v", err)
	}
	l, end := start(t, Server{Address: listener.Addr().String(), TLS: true, CA: ca}, nil)
	suite.Eventually(t, "a finding", func() bool {
		admin.SetNX(t.Context(), "lock:a", "a", time.Minute)
		admin.Del(t.Context(), "lock:a")
		return l.finds(keystory.NotCompared)
	})
	end()
}
