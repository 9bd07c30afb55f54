package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// nodes are the Redis servers on which the program locks. There is none where it locks elsewhere in virtual time.
type nodes struct {
	list []node
	// told is what programs are told of them.
	told []program.Node
	// ends are the ends that the journals of the nodes tell of.
	ends []keyEnd
	// spare is a node that no client is told of but one that is set up again; nil: the program cannot be.
	spare     node
	spareTold program.Node
}

// setAside makes the last node the spare one, where the program can be set up again.
func (n *nodes) setAside(r *program.Ready) *nodes {
	if last := len(n.list) - 1; last > 0 && r.Has(program.SetsUpAgain) {
		n.spare, n.list = n.list[last], n.list[:last]
		n.spareTold, n.told = n.told[last], n.told[:last]
	}
	return n
}

// namesFor are the nodes that a program needs.
func namesFor(r *program.Ready) []string {
	names := []string{"A"}
	if r.Class == program.Quorum {
		names = append(names, "B", "C")
	}
	if r.Has(program.SetsUpAgain) && !r.Elsewhere() {
		names = append(names, "Z")
	}
	return names
}

// quorum is how many of them have to hold the lock.
func (n *nodes) quorum() int { return len(n.list)/2 + 1 }

// reset makes all of them as they were at the beginning.
func (n *nodes) reset(ctx context.Context) error {
	for _, node := range n.list {
		if node.dead() {
			if err := node.restart(ctx); err != nil {
				return err
			}
		}
		if _, err := doAll(ctx, node, []string{"FLUSHALL"}); err != nil {
			return fmt.Errorf("failed to empty node %s: %w", node.name(), err)
		}
	}
	return nil
}

// doAll carries out commands that cannot fail.
func doAll(ctx context.Context, n node, commands ...[]string) ([]any, error) {
	answers, err := n.do(ctx, commands...)
	for _, a := range answers {
		if refused, is := a.(error); is {
			err = errors.Join(err, refused)
		}
	}
	return answers, err
}

// entry is a key on a node.
type entry struct {
	node node
	name string
	kind string
	// value is what DUMP tells of it, the same for the same value.
	value string
	// texts are the value of a string, the fields and values of a hash, the elements of a list or a set.
	texts []string
	// ttl is its time to live; negative: it has none.
	ttl time.Duration
}

func (e entry) String() string { return fmt.Sprintf("%q on node %s", e.name, e.node.name()) }

// entries are all keys on the nodes that live.
func (n *nodes) entries(ctx context.Context) (list []entry, err error) {
	for _, node := range n.list {
		if node.dead() {
			continue
		}
		answers, err := doAll(ctx, node, []string{"KEYS", "*"})
		if err != nil {
			return nil, fmt.Errorf("failed to list the keys of node %s: %w", node.name(), err)
		}
		for _, name := range slices.Sorted(slices.Values(textsOf(answers[0]))) {
			e, err := look(ctx, node, name)
			if err != nil {
				return nil, fmt.Errorf("failed to read the key %q of node %s: %w", name, node.name(), err)
			}
			if e.kind != "none" { // it has ended meanwhile
				list = append(list, e)
			}
		}
	}
	return list, nil
}

// kinds are the types of keys, with the commands that read them.
var kinds = []struct {
	name string
	read []string
}{
	{"string", []string{"GET"}}, {"hash", []string{"HGETALL"}}, {"list", []string{"LRANGE", "0", "-1"}},
	{"set", []string{"SMEMBERS"}}, {"zset", []string{"ZRANGE", "0", "-1"}},
}

func look(ctx context.Context, n node, name string) (entry, error) {
	e := entry{node: n, name: name}
	commands := [][]string{{"TYPE", name}, {"DUMP", name}, {"PTTL", name}}
	for _, k := range kinds {
		commands = append(commands, slices.Insert(slices.Clone(k.read), 1, name))
	}
	answers, err := n.do(ctx, commands...) // all but one read another type
	if err != nil {
		return e, err
	}
	e.kind, e.value = fmt.Sprint(answers[0]), fmt.Sprint(answers[1])
	ms, is := answers[2].(int64)
	if !is {
		return e, fmt.Errorf("PTTL answers %v", answers[2])
	}
	e.ttl = time.Duration(ms)
	if ms > 0 {
		e.ttl *= time.Millisecond
	}
	for i, k := range kinds {
		if k.name == e.kind {
			e.texts = textsOf(answers[3+i])
		}
	}
	return e, nil
}

// textsOf are the texts in an answer.
func textsOf(answer any) (list []string) {
	switch a := answer.(type) {
	case string:
		return []string{a}
	case []any:
		for _, x := range a {
			list = append(list, textsOf(x)...)
		}
	case map[any]any:
		for k, v := range maps.All(a) {
			list = append(list, fmt.Sprint(k), fmt.Sprint(v))
		}
	}
	return list
}

// locks are the keys of the lock: all but a counter of its tokens. Where some have a name that the
// program told, others that do not have the lock's name in theirs are not the lock. A lock that keeps its lease in the value
// may keep other keys for ever: those that it did not tell are not the lock.
func (n *nodes) locks(ctx context.Context, s *suite) ([]entry, error) {
	list, err := n.entries(ctx)
	told := slices.ContainsFunc(list, func(e entry) bool { return s.named(e.name) })
	return slices.DeleteFunc(list, func(e entry) bool {
		return s.isCounter(e) || told && !s.named(e.name) && (s.leased() || !strings.Contains(e.name, s.Key))
	}), err
}

// isCounter reports that a key may be where the lock counts its tokens.
func (s *suite) isCounter(e entry) bool {
	if !s.ready.Has(program.TellsToken) || e.kind != "string" || e.ttl >= 0 || s.named(e.name) {
		return false
	}
	_, err := strconv.ParseInt(e.texts[0], 10, 64)
	return err == nil
}

// patterns are those of the lock's keys.
func (s *suite) patterns() program.Patterns {
	if len(s.ready.Keys) == 0 {
		return program.PatternsFor(s.Key, []string{program.KeyPattern})
	}
	return program.PatternsFor(s.Key, s.ready.Keys)
}

// named reports that a pattern fits a key.
func (s *suite) named(key string) bool {
	return s.patterns().Fit(key)
}

// on counts the nodes of some keys.
func on(list []entry) int {
	names := make(map[string]bool)
	for _, e := range list {
		names[e.node.name()] = true
	}
	return len(names)
}

// still are those of the keys that have the values that they had.
func (n *nodes) still(ctx context.Context, before []entry) (list []entry, err error) {
	now, err := n.entries(ctx)
	for _, e := range before {
		if slices.ContainsFunc(now, func(o entry) bool { return o.node == e.node && o.name == e.name && o.value == e.value }) {
			list = append(list, e)
		}
	}
	return list, err
}

// somebody is the value of the keys that somebody else has taken.
const somebody = "somebody else"

// take gives keys to somebody else.
func take(ctx context.Context, list []entry, ttl time.Duration) error {
	for _, e := range list {
		write := []string{"SET", e.name, somebody}
		switch e.kind {
		case "hash":
			write = []string{"HSET", e.name, somebody, "1"}
		case "list":
			write = []string{"RPUSH", e.name, somebody}
		case "set":
			write = []string{"SADD", e.name, somebody}
		case "zset": // its score is an end that is far away
			write = []string{"ZADD", e.name, "+inf", somebody}
		}
		_, err := doAll(ctx, e.node, []string{"DEL", e.name}, write, []string{"PEXPIRE", e.name, strconv.FormatInt(ttl.Milliseconds(), 10)})
		if err != nil {
			return fmt.Errorf("failed to take the key %s: %w", e, err)
		}
	}
	return nil
}

// texts tell of keys.
func texts(list []entry) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.String()
	}
	return strings.Join(names, ", ")
}
