// Package adapters_test runs the lock programs against real servers.
package adapters_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a test waits for what a program or a server is about to do.
const patience = 2 * time.Minute

// trial is a lock program to run. Its command, of libraries.json, begins with its path below bin, or
// below this folder.
type trial struct {
	command  []string
	homepage string
	nodes    int
	// taken is the answer to an acquire that waited in vain, gone that to the release of
	// a lock whose key was deleted; whoever can extend it refuses that.
	taken, gone string
}

var trials = map[string]trial{
	"redsync":            {nodes: 3, taken: "refused", gone: "refused"},
	"redsync-tuned":      {nodes: 3, taken: "refused", gone: "refused"},
	"redislock":          {nodes: 1, taken: "refused", gone: "refused"},
	"redislock-tuned":    {nodes: 1, taken: "refused", gone: "refused"},
	"rueidislock":        {nodes: 1, taken: "unknown", gone: "unknown"},
	"gozero":             {nodes: 1, taken: "refused", gone: "refused"},
	"redis-py":           {nodes: 1, taken: "refused", gone: "refused"},
	"symfony-lock":       {nodes: 1, taken: "refused", gone: "released"},
	"symfony-lock-tuned": {nodes: 1, taken: "refused", gone: "released"},
	"tooz":               {nodes: 1, taken: "refused", gone: "refused"},
	"node-redis":         {nodes: 1, taken: "refused", gone: "refused"},
	"ruby-redis":         {nodes: 1, taken: "refused", gone: "refused"},
}

// libraries are where Debian keeps the libraries of the programs that are not built.
var libraries = map[string]string{
	"redis-py/redis_py.py":      "/usr/lib/python3/dist-packages/redis",
	"tooz/tooz_lock.py":         "/usr/lib/python3/dist-packages/tooz",
	"node-redis/node_redis.mjs": "/usr/share/nodejs/redis",
	"ruby-redis/ruby_redis.rb":  "/usr/share/rubygems-integration/all/gems/redis-*",
}

var bin string

func TestMain(m *testing.M) {
	build, err := readTrials()
	if err == nil {
		bin, err = os.MkdirTemp("", "adapters")
	}
	if err == nil {
		var out []byte
		if out, err = exec.Command("go", append([]string{"build", "-o", bin + "/"}, build...)...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s", out)
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// readTrials takes the commands from libraries.json, and returns the packages of those that are built. Each
// program whose lock is in Redis has a trial.
func readTrials() (build []string, err error) {
	text, err := os.ReadFile("libraries.json")
	if err != nil {
		return nil, err
	}
	var list []struct{ Name, Command, Homepage string }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	left := len(trials)
	for _, l := range list {
		command := strings.Fields(l.Command)
		if program, isBuilt := strings.CutPrefix(command[0], "bin/adapters/"); isBuilt {
			command[0], build = program, append(build, "./"+program)
		}
		command[0] = strings.TrimPrefix(command[0], "adapters/")
		tr, is := trials[l.Name]
		if is {
			tr.command, tr.homepage = command, l.Homepage
			trials[l.Name] = tr
			left--
		} else if !slices.Contains(stores, l.Name) {
			return nil, fmt.Errorf("libraries.json: %s has no trial", l.Name)
		}
	}
	if left > 0 {
		return nil, fmt.Errorf("libraries.json lacks %d of the trials", left)
	}
	return build, nil
}

// inEach runs a test with each program and its nodes.
func inEach(t *testing.T, test func(t *testing.T, tr trial, nodes []node)) {
	for name, tr := range trials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var nodes []node
			for range tr.nodes {
				nodes = append(nodes, startNode(t))
			}
			test(t, tr, nodes)
		})
	}
}

type node struct {
	*redis.Client
	process *os.Process
	address string
}

func startNode(t *testing.T) node {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("this machine lacks: redis-server")
	}
	socket := filepath.Join(t.TempDir(), "redis")
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := node{redis.NewClient(&redis.Options{Network: "unix", Addr: socket}), cmd.Process, address}
	t.Cleanup(func() {
		n.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	eventually(t, "the server answers", func() bool { return n.Ping(context.Background()).Err() == nil })
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// keys are the keys of a node that belong to the lock. tooz keeps one beside it, to say that its
// coordinator lives.
func (n node) keys(t *testing.T) []string {
	t.Helper()
	list, err := n.Keys(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(key string) bool { return strings.HasPrefix(key, "_tooz_beats:") })
}

// lookFor is the command that starts the program; the test is skipped where its library is missing.
func (tr *trial) lookFor(t *testing.T) []string {
	t.Helper()
	program := tr.command[0]
	if library, is := libraries[program]; is {
		if found, _ := filepath.Glob(library); len(found) == 0 {
			t.Skip("this machine lacks: " + library)
		}
	}
	switch filepath.Ext(program) {
	case ".mjs":
		if err := exec.Command("/usr/bin/node", "-e", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)").Run(); err != nil {
			t.Skip("this machine lacks: /usr/bin/node of version 18 or later")
		}
	case ".php":
		if err := exec.Command("/usr/bin/php", "-r", "new Redis(); require 'Symfony/Component/Lock/autoload.php';").Run(); err != nil {
			t.Skip("this machine lacks: php-redis or php-symfony-lock")
		}
	case "": // it is built
		return append([]string{filepath.Join(bin, program)}, tr.command[1:]...)
	}
	return append([]string{"./" + program}, tr.command[1:]...)
}

// client is a lock program that runs.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan map[string]any
	stderr bytes.Buffer
	ready  map[string]any
}

// start starts a program and opens its lock, "the lock", on the nodes at addresses.
func start(t *testing.T, tr trial, ttl time.Duration, addresses ...string) *client {
	t.Helper()
	command := tr.lookFor(t)
	c := &client{t: t, cmd: exec.Command(command[0], command[1:]...), lines: make(chan map[string]any, 100)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), &c.stderr
	c.stdin, _ = c.cmd.StdinPipe()
	stdout, _ := c.cmd.StdoutPipe()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			m := make(map[string]any)
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				m["type"] = lines.Text()
			}
			c.lines <- m
		}
	}()
	c.ready = c.ask("ready", `{"type":"hello","protocols":[1]}`)
	var nodes []string
	for _, a := range addresses {
		host, port, _ := net.SplitHostPort(a)
		nodes = append(nodes, fmt.Sprintf(`{"name":"A","host":%q,"port":%s,"username":"","password":"","tls":null}`, host, port))
	}
	c.ask("set-up", `{"type":"setup","client":"c1","seed":1,"lock":{"key":"the lock",`+
		`"ttl_ms":%d,"node_timeout_ms":2000,"options":{}},"nodes":[%s],"topology":"independent","points":[]}`,
		ttl.Milliseconds(), strings.Join(nodes, ","))
	return c
}

// ask sends a line and waits for an answer of a type.
func (c *client) ask(want, format string, a ...any) map[string]any {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.stdin, format+"\n", a...); err != nil {
		c.t.Fatal(err)
	}
	return c.hear(want)
}

func (c *client) hear(want string) map[string]any {
	c.t.Helper()
	m := c.read()
	if m["type"] != want {
		c.t.Fatalf("the program said %v, want %s; stderr: %s", m, want, &c.stderr)
	}
	return m
}

func (c *client) read() map[string]any {
	c.t.Helper()
	select {
	case m := <-c.lines:
		return m
	case <-time.After(patience):
		c.t.Fatalf("no line after %v; stderr: %s", patience, &c.stderr)
	}
	return nil
}

// isRefused asks for the lock that another one holds. Where the wait ends while an answer is under way, as on a busy
// machine, the outcome is unknown: it asks again.
func (c *client) isRefused(want string) {
	c.t.Helper()
	for id := 1; id < 100; id++ {
		if _, err := fmt.Fprintf(c.stdin, `{"type":"acquire","id":%d,"wait_ms":300}`+"\n", id); err != nil {
			c.t.Fatal(err)
		}
		switch m := c.read(); m["type"] {
		case want:
			return
		case "unknown":
		default:
			c.t.Fatalf("the program said %v, want %s; stderr: %s", m, want, &c.stderr)
		}
	}
	c.t.Fatal("it never learned that the lock is taken")
}

func (c *client) can(what string) bool {
	list, _ := c.ready["can"].([]any)
	return slices.Contains(list, any(what))
}

func addresses(nodes []node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.address)
	}
	return list
}

// TestTurns: one holds the lock, the other is refused, until it is released.
func TestTurns(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, tr trial, nodes []node) {
		c1, c2 := start(t, tr, time.Minute, addresses(nodes)...), start(t, tr, time.Minute, addresses(nodes)...)
		if c1.ready["version"] == "" {
			t.Error("the program does not know the library's version")
		}
		if c1.ready["homepage"] != tr.homepage {
			t.Errorf("the program says that its homepage is %v, libraries.json %s", c1.ready["homepage"], tr.homepage)
		}
		got := c1.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		if validity, told := got["validity_ms"].(float64); told != c1.can("validity") || validity > 60000 {
			t.Errorf("validity: %v", got)
		}
		key := strings.ReplaceAll(fmt.Sprint(c1.ready["keys"].([]any)[0]), "{key}", "the lock")
		for i, n := range nodes {
			// Symfony tries with a key, for 1 ms, what the node can do.
			eventually(t, "the node has the key "+key+" alone", func() bool { return slices.Equal(n.keys(t), []string{key}) })
			value, _ := n.Get(context.Background(), key).Bytes()
			if owner, told := got["owner_b64"]; told && owner != base64.StdEncoding.EncodeToString(value) {
				t.Errorf("node %d has %q, the grant says %v", i, value, owner)
			}
			// go-zero adds 0.5 s.
			if ttl := n.PTTL(context.Background(), key).Val(); ttl < 30*time.Second || ttl > time.Minute+500*time.Millisecond {
				t.Errorf("node %d keeps the key for %v, want a minute", i, ttl)
			}
		}
		c2.isRefused(tr.taken)
		if c1.can("extend") {
			if got := c1.ask("extended", `{"type":"extend","id":2,"grant":1}`); (got["validity_ms"] != nil) != c1.can("validity") {
				t.Errorf("extended: %v", got)
			}
		}
		c1.ask("released", `{"type":"release","id":3,"grant":1}`)
		for i, n := range nodes {
			if list := n.keys(t); len(list) != 0 {
				t.Errorf("after the release node %d has the keys %q", i, list)
			}
		}
		c2.ask("acquired", `{"type":"acquire","id":100,"wait_ms":20000}`)
	})
}

// TestKeyIsGone: somebody deleted the keys of the holder.
func TestKeyIsGone(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, tr trial, nodes []node) {
		c := start(t, tr, time.Minute, addresses(nodes)...)
		c.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		for _, n := range nodes {
			n.FlushAll(context.Background())
		}
		if c.can("lost") {
			if got := c.hear("lost"); got["grant"] != 1.0 {
				t.Errorf("lost: %v", got)
			}
		}
		if c.can("extend") {
			c.ask("refused", `{"type":"extend","id":2,"grant":1}`)
		}
		c.ask(tr.gone, `{"type":"release","id":3,"grant":1}`)
	})
}

// TestSilentNode: a node that does not answer leaves doubt. The settings of go-redis are
// not tried: they wait for 20 s. node-redis waits for ever. rueidislock waits until its key
// would have ended.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, tr trial, nodes []node) {
		if slices.Contains([]string{"redsync", "redislock", "node-redis/node_redis.mjs"}, strings.Join(tr.command, " ")) {
			t.Skip("it waits too long")
		}
		c := start(t, tr, 5*time.Second, addresses(nodes)...)
		c.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		c.ask("released", `{"type":"release","id":2,"grant":1}`)
		for _, n := range nodes {
			n.process.Signal(syscall.SIGSTOP)
		}
		c.ask("unknown", `{"type":"acquire","id":3,"wait_ms":500}`)
	})
}

// TestLostReply: the reply to the command that takes the lock is lost. go-redis sends the
// command again, and the node answers that the lock is taken. It is, by ourselves.
func TestLostReply(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, tr trial, nodes []node) {
		if tr.command[0] != "redsync" && tr.command[0] != "gozero" {
			t.Skip("it sends nothing twice that would be refused")
		}
		link := startLink(t, nodes[0].address)
		c := start(t, tr, time.Minute, link.address)
		link.loses.Store("the lock")
		// redsync deletes the key of the failed try, and tries again. go-zero finds its own value.
		c.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		c.ask("released", `{"type":"release","id":2,"grant":1}`)
		nodes[0].Set(context.Background(), "the lock", "another's", 0)
		link.loses.Store("the lock")
		c.ask("unknown", `{"type":"acquire","id":3,"wait_ms":1000}`)
	})
}

// TestLostReplies: the reply to the command that takes the lock is lost, and later that to the
// release. tooz and redis-rb send the command again, and the node says no.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, tr trial, nodes []node) {
		if libraries[tr.command[0]] == "" {
			t.Skip("TestLostReply is for go-redis")
		}
		link := startLink(t, nodes[0].address)
		c := start(t, tr, time.Minute, link.address)
		link.loses.Store("the lock")
		c.ask("unknown", `{"type":"acquire","id":1,"wait_ms":500}`)
		nodes[0].FlushAll(context.Background())
		c.ask("acquired", `{"type":"acquire","id":2,"wait_ms":20000}`)
		link.loses.Store("the lock")
		c.ask("unknown", `{"type":"release","id":3,"grant":2}`)
	})
}

// link forwards to a node. It loses the reply to the next message that contains a text.
type link struct {
	address string
	loses   atomic.Value
}

func startLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l := &link{address: listener.Addr().String()}
	l.loses.Store("")
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go l.forward(in, to)
		}
	}()
	return l
}

func (l *link) forward(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := in.Read(buffer)
		if err != nil {
			return
		}
		text, _ := l.loses.Load().(string)
		lose := text != "" && bytes.Contains(buffer[:n], []byte(text)) && l.loses.CompareAndSwap(text, "")
		if _, err := out.Write(buffer[:n]); err != nil {
			return
		}
		n, err = out.Read(buffer) // each message has one reply
		if err != nil || lose {
			return
		}
		if _, err := in.Write(buffer[:n]); err != nil {
			return
		}
	}
}
