//go:build linux && amd64

package guests

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// libraries are the lock programs of adapters/libraries.json that keep their lock on Redis: how many nodes each wants, the answer to an
// acquire that waited in vain, and that to the release of a lock whose key was deleted.
var libraries = map[string]struct {
	nodes       int
	taken, gone string
}{
	"redsync":            {nodes: 3, taken: "refused", gone: "refused"},
	"redsync-tuned":      {nodes: 3, taken: "refused", gone: "refused"},
	"redislock":          {nodes: 1, taken: "refused", gone: "refused"},
	"redislock-tuned":    {nodes: 1, taken: "refused", gone: "refused"},
	"rueidislock":        {nodes: 1, taken: "unknown", gone: "released"},
	"valkeylock":         {nodes: 1, taken: "unknown", gone: "released"},
	"gocron-redis-lock":  {nodes: 1, taken: "refused", gone: "refused"},
	"gozero":             {nodes: 1, taken: "refused", gone: "refused"},
	"redis-py":           {nodes: 1, taken: "refused", gone: "refused"},
	"symfony-lock":       {nodes: 1, taken: "refused", gone: "released"},
	"symfony-lock-tuned": {nodes: 1, taken: "refused", gone: "released"},
	"tooz":               {nodes: 1, taken: "refused", gone: "refused"},
	"node-redis":         {nodes: 1, taken: "refused", gone: "refused"},
	"ruby-redis":         {nodes: 1, taken: "refused", gone: "refused"},

	"redlock-5":                       {nodes: 3, taken: "refused", gone: "refused"},
	"redlock-5-tuned":                 {nodes: 3, taken: "refused", gone: "refused"},
	"redlock-4-tuned":                 {nodes: 3, taken: "refused", gone: "refused"},
	"sesame-redlock-tuned":            {nodes: 3, taken: "refused", gone: "refused"},
	"redis-semaphore":                 {nodes: 1, taken: "refused", gone: "released"},
	"redis-semaphore-redlock-tuned":   {nodes: 3, taken: "refused", gone: "released"},
	"redlock-universal":               {nodes: 1, taken: "refused", gone: "refused"},
	"redlock-universal-redlock-tuned": {nodes: 3, taken: "refused", gone: "refused"},
	"ioredis-lock":                    {nodes: 1, taken: "refused", gone: "refused"},
	"node-redis-warlock":              {nodes: 1, taken: "refused", gone: "refused"},
	"redis-lock":                      {nodes: 1, taken: "unknown", gone: "released"},
	"redis-py-8":                      {nodes: 1, taken: "refused", gone: "refused"},
	"redis-py-asyncio":                {nodes: 1, taken: "refused", gone: "refused"},
	"python-redis-lock":               {nodes: 1, taken: "refused", gone: "refused"},
	"python-redis-lock-renew":         {nodes: 1, taken: "refused", gone: "refused"},
	"sherlock":                        {nodes: 1, taken: "refused", gone: "refused"},
	"pottery-tuned":                   {nodes: 3, taken: "unknown", gone: "refused"},
	"aioredlock":                      {nodes: 3, taken: "unknown", gone: "released"},
	"aioredlock-renew":                {nodes: 3, taken: "unknown", gone: "released"},
	"redlock-ng":                      {nodes: 3, taken: "refused", gone: "released"},
	"redlock-py-tuned":                {nodes: 3, taken: "refused", gone: "released"},
	"redisson":                        {nodes: 1, taken: "refused", gone: "refused"},
	"redisson-watchdog":               {nodes: 1, taken: "refused", gone: "refused"},
	"redisson-fair":                   {nodes: 1, taken: "refused", gone: "released"},
	"redisson-redlock":                {nodes: 3, taken: "unknown", gone: "released"},
	"shedlock":                        {nodes: 1, taken: "refused", gone: "unknown"},
	"shedlock-safe":                   {nodes: 1, taken: "refused", gone: "unknown"},
	"spring-registry":                 {nodes: 1, taken: "refused", gone: "refused"},
	"spring-registry-pubsub":          {nodes: 1, taken: "refused", gone: "refused"},
	"dapr":                            {nodes: 1, taken: "unknown", gone: "unknown"},
	"dapr-tuned":                      {nodes: 1, taken: "refused", gone: "refused"},
	"laravel-lock":                    {nodes: 1, taken: "refused", gone: "refused"},
	"laravel-lock-tuned":              {nodes: 1, taken: "refused", gone: "refused"},
	"malkusch-lock":                   {nodes: 3, taken: "refused", gone: "refused"},
	"rslock":                          {nodes: 3, taken: "unknown", gone: "released"},
}

// waitForEver are those whose clients have no time limit for an answer.
var waitForEver = []string{"node-redis", "redlock-5", "redis-semaphore", "ioredis-lock", "node-redis-warlock", "aioredlock",
	"aioredlock-renew", "laravel-lock"}

// elsewhere are those that keep it elsewhere, that have a counter beside it, or that several clients may hold at once: these tests do not
// read their keys.
var elsewhere = []string{"etcd", "advisory", "curator", "kazoo", "nats-kv", "redis-semaphore-permits", "redisson-permits",
	"redisson-read-write", "redisson-fenced"}

// library is an entry of libraries.json.
type library struct{ Name, Command, Homepage, Brought string }

var readLibraries = sync.OnceValues(func() (list []library, err error) {
	text, err := os.ReadFile("../../../../adapters/libraries.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
})

// builds has the lock programs in Go, once a test needs one.
var builds struct {
	sync.Mutex
	dir string
}

// adapter is the file of a lock program of adapters/. One of bin/adapters/ is built.
func adapter(t testing.TB, file string) string {
	t.Helper()
	root := docstest.Root(t)
	name, isBuilt := strings.CutPrefix(file, "bin/adapters/")
	if !isBuilt {
		return filepath.Join(root, file)
	}
	builds.Lock()
	defer builds.Unlock()
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "adapters")
		if err != nil {
			t.Fatal(err)
		}
		builds.dir = dir
	}
	path := filepath.Join(builds.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	c := exec.Command("go", "build", "-o", path, "./"+name)
	c.Dir = filepath.Join(root, "adapters")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("failed to build %s: %v\n%s", name, err, out)
	}
	return path
}

// needs is what the programs that are not built need of this machine, by the ends of their names.
var needs = map[string]struct{ what, file string }{
	"redis_py.py":      {"redis-py", "/usr/lib/python3/dist-packages/redis"},
	"tooz_lock.py":     {"tooz", "/usr/lib/python3/dist-packages/tooz"},
	"node_redis.mjs":   {"node-redis", "/usr/share/nodejs/redis"},
	"ruby_redis.rb":    {"redis-rb", "/usr/share/rubygems-integration/all/gems/redis-*"},
	"symfony_lock.php": {"php-symfony-lock", "/usr/share/php/Symfony/Component/Lock"},
}

// commandOf starts the lock program of a library.
func commandOf(t testing.TB, l library) []string {
	t.Helper()
	words := strings.Fields(l.Command)
	if need, is := needs[filepath.Base(words[0])]; is && l.Brought == "" {
		if found, _ := filepath.Glob(need.file); len(found) == 0 {
			suite.Lacks(t, need.what)
		}
	}
	if l.Brought != "" {
		suite.All(t)
		if _, err := os.Stat(filepath.Join(docstest.Root(t), ".cache", "libraries", l.Brought, "complete")); err != nil {
			suite.Lacks(t, "the libraries of make libraries")
		}
	}
	words[0] = adapter(t, words[0])
	return words
}

// inEach runs a test with each library, on nodes of its own.
func inEach(t *testing.T, test func(p *play)) {
	server := redis(t)
	list, err := readLibraries()
	if err != nil {
		t.Fatal(err)
	}
	left := len(libraries)
	for _, l := range list {
		want, is := libraries[l.Name]
		switch {
		case is:
			left--
		case !slices.Contains(elsewhere, l.Name):
			t.Errorf("libraries.json: nothing is known of %s", l.Name)
		}
		if !is {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			command := commandOf(t, l) // which may skip the test
			p := &play{T: t, library: l, b: newTestbed(t), taken: want.taken, gone: want.gone, command: command}
			defer func() {
				if err := p.b.Close(); err != nil {
					t.Error(err)
				}
			}()
			p.b.sup.Network = &losing{testbedNetwork{p.b}, p}
			for i := range want.nodes {
				s, err := p.b.StartRedis(string(rune('A'+i)), server, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				p.nodes = append(p.nodes, s)
			}
			test(p)
			if err := p.b.Unknown(); err != nil {
				t.Error(err)
			}
		})
	}
	if left > 0 {
		t.Errorf("libraries.json lacks %d of the libraries", left)
	}
}

// play is a test of one library.
type play struct {
	*testing.T
	library
	command     []string
	taken, gone string
	b           *Testbed
	nodes       []*TestbedServer
	// loses: the reply to the next message that contains it is lost.
	loses string
}

// losing closes the connection over which a reply is to come that is lost.
type losing struct {
	testbedNetwork
	p *play
}

// Sent implements supervisor.Network.
func (n *losing) Sent(c *supervisor.Conn, end int, text []byte) {
	if n.p.loses != "" && end == supervisor.Opener && bytes.Contains(text, []byte(n.p.loses)) {
		n.p.loses = ""
		text = slices.Clone(text)
		n.later(func() {
			c.Deliver(supervisor.Listener, text)
			n.asks[c] = new([]byte) // what is answered goes nowhere
			n.later(func() { c.Finish(supervisor.Opener); c.Finish(supervisor.Listener) })
		})
		return
	}
	n.testbedNetwork.Sent(c, end, text)
}

// actor is a lock program that runs.
type actor struct {
	p     *play
	said  []map[string]any
	errs  bytes.Buffer
	run   *TestbedProgram
	ready map[string]any
}

// start starts the program and opens its lock, "the lock".
func (p *play) start(name string, ttl time.Duration, nodes ...*TestbedServer) *actor {
	p.Helper()
	a := &actor{p: p}
	var err error
	a.run, err = p.b.Start(name, p.command, Heard{
		Line: func(line []byte) {
			m := make(map[string]any)
			if err := json.Unmarshal(line, &m); err != nil {
				m["type"] = string(line)
			}
			a.said = append(a.said, m)
		},
		Errors: func(text []byte) { a.errs.Write(text) },
		Ended:  func(how string) { fmt.Fprintln(&a.errs, "it", how) },
	})
	if err != nil {
		p.Fatal(err)
	}
	a.ready = a.ask("ready", `{"type":"hello","protocols":[1]}`)
	var told []string
	for _, n := range nodes {
		told = append(told, fmt.Sprintf(`{"name":%q,"host":%q,"port":%d,"username":"","password":"","tls":null}`, n.Name, n.Host, n.Port))
	}
	a.ask("set-up", `{"type":"setup","client":%q,"seed":1,"lock":{"key":"the lock",`+
		`"ttl_ms":%d,"node_timeout_ms":2000,"options":{}},"nodes":[%s],"topology":"independent","points":[]}`,
		name, ttl.Milliseconds(), strings.Join(told, ","))
	return a
}

// ask sends a line and waits for an answer of a type.
func (a *actor) ask(want, format string, args ...any) map[string]any {
	a.p.Helper()
	a.run.Write(fmt.Appendf(nil, format+"\n", args...))
	return a.hear(want)
}

// hear waits for the next line, for two minutes at most.
func (a *actor) hear(want string) map[string]any {
	a.p.Helper()
	if !a.p.b.Until(2*time.Minute, func() bool { return len(a.said) > 0 }) {
		a.p.Fatalf("no line, want %s: %v; stderr: %s", want, a.p.b.Unknown(), &a.errs)
	}
	m := a.said[0]
	a.said = a.said[1:]
	if m["type"] != want {
		a.p.Fatalf("the program said %v, want %s; stderr: %s", m, want, &a.errs)
	}
	return m
}

func (a *actor) can(what string) bool {
	list, _ := a.ready["can"].([]any)
	return slices.Contains(list, any(what))
}

func (p *play) do(s *TestbedServer, words ...string) any {
	p.Helper()
	answers, err := s.Do([][]string{words})
	if err != nil {
		p.Fatal(err)
	}
	return answers[0]
}

// beside are the beginnings of keys that are not the lock: tooz says by one that its coordinator lives, python-redis-lock wakes up by one
// who waits, and Redisson keeps the answer to a release.
var beside = []string{"_tooz_beats:", "lock-signal:", "redisson_unlock_latch:"}

// keys are those of a node that belong to the lock.
func (p *play) keys(s *TestbedServer) (list []string) {
	p.Helper()
	for _, key := range p.do(s, "KEYS", "*").([]any) {
		key := fmt.Sprint(key)
		if !slices.ContainsFunc(beside, func(begins string) bool { return strings.HasPrefix(key, begins) }) {
			list = append(list, key)
		}
	}
	return list
}

// TestTurns: one holds the lock, the other does not get it, until it is released.
func TestTurns(t *testing.T) {
	inEach(t, func(p *play) {
		c1, c2 := p.start("c1", time.Minute, p.nodes...), p.start("c2", time.Minute, p.nodes...)
		if c1.ready["version"] == "" || c1.ready["homepage"] != p.Homepage {
			p.Errorf("the program says that its version is %q and its homepage %v", c1.ready["version"], c1.ready["homepage"])
		}
		got := c1.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		if validity, told := got["validity_ms"].(float64); told != c1.can("validity") || validity > 60000 {
			p.Errorf("validity: %v", got)
		}
		p.b.Sleep(10 * time.Millisecond) // Symfony tries with a key, for 1 ms, what the node can do
		key := strings.ReplaceAll(fmt.Sprint(c1.ready["keys"].([]any)[0]), "{key}", "the lock")
		for _, n := range p.nodes {
			if list := p.keys(n); !slices.Equal(list, []string{key}) {
				p.Errorf("node %s has the keys %q, want %q", n.Name, list, key)
			}
			if owner, told := got["owner_b64"]; told {
				if value := fmt.Sprint(p.do(n, "GET", key)); owner != base64.StdEncoding.EncodeToString([]byte(value)) {
					p.Errorf("node %s has %q, the grant says %v", n.Name, value, owner)
				}
			}
			extra, _ := c1.ready["ttl_extra_ms"].(float64)
			if ttl := p.do(n, "PTTL", key).(int64); ttl < 59_000 || ttl > 60_000+int64(extra) {
				p.Errorf("node %s keeps the key for %d ms, want a minute and %v ms", n.Name, ttl, extra)
			}
		}
		c2.ask(p.taken, `{"type":"acquire","id":1,"wait_ms":300}`)
		if c1.can("extend") {
			got := c1.ask("extended", `{"type":"extend","id":2,"grant":1}`)
			if told := got["validity_ms"] != nil; told != c1.can("validity") && p.Name != "redlock-ng" {
				p.Errorf("extended: %v", got)
			}
		}
		c1.ask("released", `{"type":"release","id":3,"grant":1}`)
		for _, n := range p.nodes {
			if list := p.keys(n); len(list) != 0 {
				p.Errorf("after the release node %s has the keys %q", n.Name, list)
			}
		}
		c2.ask("acquired", `{"type":"acquire","id":100,"wait_ms":20000}`)
	})
}

// TestKeyIsGone: somebody deleted the keys of the holder.
func TestKeyIsGone(t *testing.T) {
	inEach(t, func(p *play) {
		c := p.start("c1", time.Minute, p.nodes...)
		c.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		for _, n := range p.nodes {
			p.do(n, "FLUSHALL")
		}
		again := strings.HasPrefix(p.Name, "aioredlock") // it sets the key again
		if c.can("lost") && !again {
			if got := c.hear("lost"); got["grant"] != 1.0 {
				p.Errorf("lost: %v", got)
			}
		}
		switch {
		case again:
			c.ask("extended", `{"type":"extend","id":2,"grant":1}`)
		case p.Name == "rslock": // it hides why it failed
			c.ask("unknown", `{"type":"extend","id":2,"grant":1}`)
		case c.can("extend"):
			c.ask("refused", `{"type":"extend","id":2,"grant":1}`)
		}
		c.ask(p.gone, `{"type":"release","id":3,"grant":1}`)
	})
}

// TestSilentNode: a node that does not answer leaves doubt.
func TestSilentNode(t *testing.T) {
	inEach(t, func(p *play) {
		if slices.Contains(waitForEver, p.Name) {
			p.Skip("it waits for ever")
		}
		c := p.start("c1", 5*time.Second, p.nodes...)
		c.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
		c.ask("released", `{"type":"release","id":2,"grant":1}`)
		for _, n := range p.nodes {
			n.host.Pause()
		}
		c.ask("unknown", `{"type":"acquire","id":3,"wait_ms":500}`)
	})
}

// TestLostReplies: the reply to the command that takes the lock is lost, and later that to the release.
func TestLostReplies(t *testing.T) {
	inEach(t, func(p *play) {
		c := p.start("c1", time.Minute, p.nodes[0])
		p.loses = "the lock"
		switch p.Name {
		case "redsync", "redsync-tuned", "gozero":
			// go-redis sends the command again, and the node says that the lock is taken. It is, by ourselves: redsync deletes the key of
			// the failed try, and tries again; go-zero finds its own value.
			c.ask("acquired", `{"type":"acquire","id":1,"wait_ms":20000}`)
			c.ask("released", `{"type":"release","id":2,"grant":1}`)
			p.do(p.nodes[0], "SET", "the lock", "another's")
			p.loses = "the lock"
			c.ask("unknown", `{"type":"acquire","id":3,"wait_ms":1000}`)
		case "redis-py", "tooz", "node-redis", "ruby-redis": // tooz and redis-rb send the command again, and the node says no
			c.ask("unknown", `{"type":"acquire","id":1,"wait_ms":500}`)
			p.do(p.nodes[0], "FLUSHALL")
			c.ask("acquired", `{"type":"acquire","id":2,"wait_ms":20000}`)
			p.loses = "the lock"
			c.ask("unknown", `{"type":"release","id":3,"grant":2}`)
		default:
			p.Skip("it sends nothing twice that would be refused")
		}
		if p.loses != "" {
			p.Error("no reply was lost")
		}
	})
}
