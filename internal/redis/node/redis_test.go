package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// epoch is where the clocks of the tests begin, in s since 1970.
const epoch = int64(1_700_000_000)

// peer is a connection to a real server, beside one to the model.
type peer struct {
	net.Conn
	model *node.Conn
	in    []byte
	// got is what the model has sent and nobody has read.
	got []byte
}

// pair is a server and a model that get the same commands.
type pair struct {
	real    *servertest.Redis
	memory  model.Memory
	node    *node.Node
	peers   []*peer
	clock   int64
	story   []string
	unknown []string
}

func newPair(t rapid.TB, real *servertest.Redis, conns int) *pair {
	t.Helper()
	p := &pair{real: real, clock: epoch}
	p.node = node.New(&p.memory, node.Config{Unknown: func(what string) { p.unknown = append(p.unknown, what) }})
	p.tick(t, 0)
	for range conns {
		conn, err := net.Dial("unix", real.Dir+"/socket")
		if err != nil {
			t.Fatal(err)
		}
		one := &peer{Conn: conn}
		one.model = p.node.Open(func(b []byte) { one.got = append(one.got, b...) })
		p.peers = append(p.peers, one)
	}
	for _, words := range [][]string{{"FLUSHALL"}, {"SCRIPT", "FLUSH"}, {"CONFIG", "SET", "notify-keyspace-events", ""}} {
		p.peers[0].ask(t, words...)
		p.peers[0].model.Do(nil, words)
	}
	return p
}

func (p *pair) close() {
	for _, c := range p.peers {
		_ = c.Close()
	}
}

func (p *pair) tick(t rapid.TB, by int64) {
	p.clock += by
	p.real.Set(t, p.clock)
	p.memory.Now = p.clock * 1e6
}

// hello lets a connection speak version 3.
func (p *pair) hello(t rapid.TB, who int) {
	t.Helper()
	want := p.peers[who].ask(t, "HELLO", "3")
	got, _ := p.peers[who].model.Do(nil, []string{"HELLO", "3"})
	if !bytes.Equal(number.ReplaceAll(got, nil), number.ReplaceAll(want, nil)) {
		t.Fatalf("HELLO: %q, Redis %q", got, want)
	}
}

// ask sends a command to the server alone, and reads its answer.
func (c *peer) ask(t rapid.TB, words ...string) []byte {
	t.Helper()
	c.write(t, words)
	return c.messages(t, 1)[0]
}

func (c *peer) write(t rapid.TB, words []string) {
	t.Helper()
	if _, err := c.Write(resp.AppendCommand(nil, words...)); err != nil {
		t.Fatal(err)
	}
}

// messages reads so many of the server: what the model says that it sends.
func (c *peer) messages(t rapid.TB, n int) (list [][]byte) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(suite.Patience))
	for {
		var more [][]byte
		more, c.in = split(t, c.in, n-len(list))
		if list = append(list, more...); len(list) == n {
			return list
		}
		buffer := make([]byte, 64<<10)
		k, err := c.Read(buffer)
		if err != nil {
			return append(list, []byte(err.Error()))
		}
		c.in = append(c.in, buffer[:k]...)
	}
}

// split takes up to n messages off bytes; below 0: all.
func split(t rapid.TB, b []byte, n int) (list [][]byte, rest []byte) {
	t.Helper()
	for len(b) > 0 && n != 0 {
		_, k, err := resp.Parse(b)
		if errors.Is(err, resp.ErrShort) {
			break
		}
		if err != nil {
			t.Fatalf("%v: %q", err, b)
		}
		list, b, n = append(list, slices.Clone(b[:k])), b[k:], n-1
	}
	return list, b
}

// both puts a command to both, and wants the same messages, with those that have come of
// themselves.
func (p *pair) both(t rapid.TB, who int, words ...string) {
	t.Helper()
	c := p.peers[who]
	c.write(t, words)
	c.got, _ = c.model.Do(c.got, words)
	got, rest := split(t, c.got, -1)
	if len(rest) > 0 {
		t.Fatalf("%q: the model answers %q", words, c.got)
	}
	c.got = nil
	want := c.messages(t, len(got))
	p.story = append(p.story, fmt.Sprintf("%d %d: %q: %q", p.clock-epoch, who, words, want))
	if a, b := alike(words, got), alike(words, want); a != b {
		t.Fatalf("%s\nthe model answers %q\nRedis           %q\nunknown: %q", strings.Join(p.story, "\n"), a, b, p.unknown)
	}
}

var (
	number    = regexp.MustCompile(`\$2\r\nid\r\n:\d+`)
	errorLine = regexp.MustCompile(`user_script:(\d+): [^\r]*|(new function\): )[^\r]*|( script: [0-9a-f]{40})[^\r]*`)
	unordered = regexp.MustCompile(`(?i)^(smembers|keys|scan)$`)
)

// alike leaves out what is not to be compared: the order of what has none, and the
// interpreter's own words.
func alike(words []string, messages [][]byte) string {
	if i := slices.Index(words, callScript); i >= 0 && i+2 < len(words) {
		if keys, err := strconv.Atoi(words[i+1]); err == nil && keys >= 0 && i+2+keys < len(words) {
			words = words[i+2+keys:]
		}
	}
	var all strings.Builder
	for _, b := range messages {
		v, _, err := resp.Parse(b)
		if err == nil && (unordered.MatchString(words[0]) && v.Kind == resp.Array || v.Kind == resp.Set) {
			list := v.List
			if strings.EqualFold(words[0], "scan") {
				list = v.List[1].List
			}
			slices.SortFunc(list, func(a, b resp.Value) int { return strings.Compare(a.Text, b.Text) })
			b = resp.Append(nil, v)
		}
		all.Write(b)
	}
	return errorLine.ReplaceAllString(number.ReplaceAllString(all.String(), ""), "user_script:$1$2$3")
}

var keyNames = []string{"a", "b", "h", "l", "s", "z"}

// callScript calls the command that its arguments are.
const callScript = "return redis.call(unpack(ARGV))"

// draw draws a command with arguments that fit it, mostly.
func draw(t *rapid.T, now int64) []string {
	g := generator{t, now}
	name := rapid.SampledFrom(drawn).Draw(t, "command")
	return g.words(name)
}

type generator struct {
	*rapid.T
	now int64
}

func (g generator) pick(from ...string) string { return rapid.SampledFrom(from).Draw(g.T, "word") }

func (g generator) word(kind string) string {
	switch kind {
	case "k":
		return g.pick(keyNames...)
	case "h", "l", "s", "z":
		return g.pick(kind, kind, kind, kind, kind, kind, "a")
	case "f":
		return g.pick("x", "y", "1", "")
	case "v":
		return g.pick("x", "y", "1", "7", "-3", "", "9223372036854775807", "007", "a\x00\r\nb", "3.5")
	case "n":
		return g.pick("1", "2", "0", "-1", "-2", "5", "9223372036854775807", "-9223372036854775808", "x", "01")
	case "sec":
		return g.pick("1", "2", "3", "1", "2", "0", "-1", "x", "9223372036854775807", strconv.FormatInt(g.now+2, 10))
	case "ms":
		return g.pick("1000", "2000", "1500", "1", "0", "-5", "x", "9223372036854775807", strconv.FormatInt(1000*g.now+1500, 10))
	case "at":
		return strconv.FormatInt(g.now+int64(rapid.IntRange(-1, 3).Draw(g.T, "at")), 10)
	case "atms":
		return strconv.FormatInt(1000*(g.now+int64(rapid.IntRange(-1, 3).Draw(g.T, "at"))), 10)
	case "score":
		return g.pick("1", "2", "1.5", "0.1", "-1", "inf", "-inf", "x", "nan", "1e30", "3e-7")
	case "bound":
		return g.pick("1", "(1", "2", "(2", "-inf", "+inf", "inf", "1.5", "x", "(", "0")
	case "CALL":
		return callScript
	case "CALL3":
		return "redis.setresp(3) " + callScript
	case "PCALL":
		return "local r = redis.pcall(unpack(ARGV)) return {r, type(r), r == false}"
	case "TWICE":
		return callScript + ", redis.call(unpack(ARGV))"
	case "sha":
		return command.SHA(callScript)
	case "glob":
		return g.pick("*", "?", "[a-h]", "[^a]", "h*", "\\a", "[ab", "a?", "**l")
	}
	return kind
}

// shapes say how each command is written: kinds of words, and options in [] of which some
// are drawn.
var shapes = map[string][]string{
	"set": {"k v", "k v [NX XX GET KEEPTTL EX:sec PX:ms EXAT:at PXAT:atms y]",
		"k v PX ms NX", "k v EX sec", "k v PXAT atms", "k v xx get"},
	"get":         {"k"},
	"getdel":      {"k"},
	"getex":       {"k", "k [PERSIST EX:sec PX:ms EXAT:at PXAT:atms NX]"},
	"getset":      {"k v"},
	"getrange":    {"k n n", "k 0 1"},
	"setnx":       {"k v"},
	"setex":       {"k sec v"},
	"psetex":      {"k ms v"},
	"mget":        {"k k", "k k k"},
	"mset":        {"k v", "k v k v", "k v k"},
	"msetnx":      {"k v", "k v k v", "k v k"},
	"append":      {"k v"},
	"strlen":      {"k"},
	"incr":        {"k"},
	"decr":        {"k"},
	"incrby":      {"k n"},
	"decrby":      {"k n"},
	"del":         {"k", "k k"},
	"unlink":      {"k", "k k"},
	"exists":      {"k", "k k"},
	"touch":       {"k", "k k"},
	"type":        {"k"},
	"keys":        {"glob"},
	"scan":        {"0", "0 MATCH glob", "0 TYPE hash", "x", "0 COUNT 0", "0 COUNT 1000 MATCH glob", "0 y", "0 MATCH"},
	"rename":      {"k k"},
	"renamenx":    {"k k"},
	"flushall":    {"", "ASYNC", "x"},
	"flushdb":     {"", "sync"},
	"expire":      {"k sec", "k sec [NX XX GT LT y]", "k 2 GT", "k 2 LT"},
	"pexpire":     {"k ms", "k ms [NX XX GT LT y]", "k 1500 GT", "k 2000 LT"},
	"expireat":    {"k at", "k at [NX XX GT LT]"},
	"pexpireat":   {"k atms", "k atms [NX XX GT LT]"},
	"ttl":         {"k"},
	"pttl":        {"k"},
	"expiretime":  {"k"},
	"pexpiretime": {"k"},
	"persist":     {"k"},
	"hset":        {"h f v", "h f v f v", "h f v f"},
	"hmset":       {"h f v", "h f v f v", "h f v f"},
	"hsetnx":      {"h f v"},
	"hget":        {"h f"},
	"hmget":       {"h f f"},
	"hgetall":     {"h"},
	"hexists":     {"h f"},
	"hdel":        {"h f", "h f f f"},
	"hincrby":     {"h f n"},
	"hlen":        {"h"},
	"hkeys":       {"h"},
	"hvals":       {"h"},
	"rpush":       {"l v", "l v v"},
	"lpush":       {"l v", "l v v"},
	"rpushx":      {"l v v"},
	"lpushx":      {"l v v"},
	"lpop":        {"l", "l n", "l 1 2"},
	"rpop":        {"l", "l n"},
	"lrange":      {"l 0 -1", "l n n"},
	"llen":        {"l"},
	"lrem":        {"l n v", "l 1 x"},
	"lindex":      {"l n"},
	"ltrim":       {"l n n", "l 0 2"},
	"sadd":        {"s v", "s v v v"},
	"srem":        {"s v", "s v v"},
	"sismember":   {"s v"},
	"smembers":    {"s"},
	"scard":       {"s"},
	"zadd":        {"z score f", "z score f score f", "z [NX XX GT LT CH INCR] score f", "z score"},
	"zincrby":     {"z score f"},
	"zrem":        {"z f", "z f f"},
	"zscore":      {"z f"},
	"zrank":       {"z f"},
	"zcard":       {"z"},
	"zcount":      {"z bound bound"},
	"zrange": {"z 0 -1", "z n n [REV WITHSCORES]", "z bound bound BYSCORE [REV WITHSCORES LIMIT:n:n]", "z n n LIMIT n n", "z 0 -1 y",
		"z 0 -1 WITHSCORES", "z n n BYSCORE BYSCORE"},
	"zrangebyscore":    {"z bound bound", "z bound bound [WITHSCORES LIMIT:n:n]", "z -inf inf rev"},
	"zrevrange":        {"z n n", "z n n withscores"},
	"zremrangebyscore": {"z bound bound"},
	"zremrangebyrank":  {"z n n"},
	"dbsize":           {""},
	"time":             {""},
	"echo":             {"v"},
	"ping":             {"", "v", "v v"},
	"select":           {"0", "x", "16"},
	"wait":             {"0 0", "0 n", "x 1"},
	"role":             {""},
	"multi":            {""},
	"exec":             {"", "", ""},
	"discard":          {""},
	"watch":            {"k", "k k"},
	"unwatch":          {""},
	"reset":            {""},
	"hello":            {"4", "x", "3 AUTH default x SETNAME", "3 AUTH x y"},
	"auth":             {"x", "default x", "x y", "x y z"},
	"client|setname":   {"x", "v"},
	"client|getname":   {""},
	"client|no-evict":  {"on", "x"},
	"client|kill":      {"x", "id 0", "id 99999999", "x y"},
	"client|tracking": {"off", "on", "x", "on bcast prefix x optin",
		"on prefix x", "on optin optout", "on BCAST PREFIX h PREFIX ha", "on y", "on OPTIN", "on NOLOOP", "on OPTOUT"},
	"client|caching": {"yes", "no", "x"},
	"client|x":       {""},
	"client":         {""},
	"config|get":     {"notify-keyspace-events", "databases"},
	"config|set": {"notify-keyspace-events KEA",
		"notify-keyspace-events x", "notify-keyspace-events", "notify-keyspace-events gK$lshzxE", "notify-keyspace-events zlK$"},
	"cluster|x":       {""},
	"publish":         {"ch v"},
	"subscribe":       {"ch", "ch ch", "__keyevent@0__:set"},
	"psubscribe":      {"c*", "__key*__:*"},
	"unsubscribe":     {"ch", "x"},
	"punsubscribe":    {"c*", "__key*__:*"},
	"pubsub|channels": {"c*", "x y"},
	"pubsub|numsub":   {"", "ch x"},
	"pubsub|numpat":   {""},
	"eval": {"", "CALL 0 any", "CALL 0 any",
		"CALL 0 any", "CALL3 0 any", "PCALL 0 any", "TWICE 0 any", "x 0", "CALL x", "CALL -1", "CALL 3 x"},
	"eval_ro":       {"CALL 0 any"},
	"evalsha":       {"sha 0 any", "x 0"},
	"evalsha_ro":    {"sha 0 any"},
	"script|load":   {"CALL", "x"},
	"info":          {"cluster"},
	"script|exists": {"x", "sha"},
	"script|flush":  {"", "x", "SYNC"},
	"foo":           {"", "v v"},
}

var drawn = func() []string {
	for _, r := range node.Rows() {
		if strings.HasPrefix(r.Name, "cluster|") {
			shapes[r.Name] = []string{strings.TrimSpace(strings.Repeat("1 ", max(r.Arity, -r.Arity)-2))}
		}
	}
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// words writes a command in one of its shapes.
func (g generator) words(name string) []string {
	words := strings.Split(name, "|")
	if rapid.IntRange(0, 9).Draw(g.T, "upper") > 0 {
		words[0] = strings.ToUpper(words[0])
	}
	shape := g.pick(shapes[name]...)
	for shape != "" {
		if rest, ok := strings.CutPrefix(shape, "["); ok {
			options, after, _ := strings.Cut(rest, "]")
			for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 2, 3}).Draw(g.T, "options") {
				for part := range strings.SplitSeq(g.pick(strings.Fields(options)...), ":") {
					words = append(words, g.word(part))
				}
			}
			shape = strings.TrimPrefix(after, " ")
			continue
		}
		kind, rest, _ := strings.Cut(shape, " ")
		if kind == "any" {
			words = append(words, g.words(rapid.SampledFrom(drawn).Draw(g.T, "called"))...)
		} else {
			words = append(words, g.word(kind))
		}
		shape = rest
	}
	if rapid.IntRange(0, 49).Draw(g.T, "short") == 0 && name != "info" {
		words = words[:max(1, len(words)-1)]
	}
	return words
}

// TestNodeIsRedis puts random commands of two connections to both, one of them in version 3
// of the protocol, while the clock jumps.
func TestNodeIsRedis(t *testing.T) {
	real := servertest.Start(t, epoch)
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t, real, 2)
		defer p.close()
		p.hello(t, 1)
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			if rapid.IntRange(0, 9).Draw(t, "tick") == 0 {
				p.tick(t, int64(rapid.IntRange(-1, 3).Draw(t, "by")))
			}
			words := draw(t, p.clock)
			p.both(t, rapid.IntRange(0, 1).Draw(t, "who"), words...)
		}
		if len(p.unknown) > 0 {
			t.Fatalf("%s\nunknown: %q", strings.Join(p.story, "\n"), p.unknown)
		}
	})
}
