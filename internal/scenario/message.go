package scenario

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// unanswered are commands after which what a node sends can no longer be told apart from answers.
var unanswered = []string{"MONITOR", "PSYNC", "SYNC"}

// wordless are commands that have no word behind their name.
var wordless = []string{"DISCARD", "EXEC", "MULTI", "UNWATCH"}

// bodies are commands that do what stands elsewhere: in a script, or in the commands before them.
var bodies = []string{"EVAL", "EVALSHA", "EXEC", "FCALL"}

// pushable are the names of what a node pushes.
var pushable = slices.Concat([]string{world.AnyCommand}, world.PushedWords(), command.Waiting())

// checkMessage makes sure that there can be a message of the kind that is meant; what says whether it is sent, answers or is pushed.
func (r *FaultRules) checkMessage(d *decoder, path, what string, p *nemesis.Passing) {
	name := strings.ToUpper(p.Command())
	switch {
	case p.Pushes != "":
		r.checkPush(d, yamlform.Join(path, what), p.Pushes)
	case slices.Contains(world.PushedWords(), name):
		d.ProblemAt(yamlform.Join(path, what), "never happens: %s is no command, but what a node pushes", name).Hint =
			"{node: A, pushes: " + name + ", to: c1}"
	case p.Answers != "" && p.To != "" && (name == "PUBLISH" || name == "SPUBLISH"):
		// The client may publish, too. But who names it means what is pushed to it, and would wait for ever.
		d.ProblemAt(yamlform.Join(path, "to"), "the answer to %s goes to the client that publishes", name).Hint =
			"what others are told by it: {node: A, pushes: MESSAGE, to: c1}; without to, it is the answer to whoever publishes"
	case p.Answers != "" && slices.Contains(unanswered, name):
		d.ProblemAt(yamlform.Join(path, what), "never happens: no answer can be told from what else a node sends after %s", name).Hint =
			"{client: c1, sends: " + name + ", to: A}"
	case slices.Contains(wordless, name):
		for _, given := range []struct{ key, value string }{{"key", p.Key}, {"contains", p.Contains}} {
			if given.value != "" {
				d.ProblemAt(yamlform.Join(path, given.key), "never happens: %s has no word behind its name", name).Hint =
					"a command between MULTI and EXEC has: {client: c1, sends: SET, key: lock}"
			}
		}
	}
	if can := command.CanNamed(p.Can); !strings.EqualFold(name, world.AnyCommand) && !slices.Contains(bodies, name) &&
		can&^command.CanDoByName(name) != 0 {
		d.ProblemAt(yamlform.Join(path, "can"), "never happens: %s cannot %s a key", name, p.Can).Hint = what + ": any"
	}
	if n := &r.setup.Nodes; name == "WAITAOF" && len(n.Addresses) == 0 && !n.Persistence.AppendOnly() && d.Sound("nodes.persistence") {
		d.ProblemAt(yamlform.Join(path, what),
			"%s is for nodes that keep an append-only file, and nodes.persistence is %s", name, n.Persistence).Hint =
			"nodes: {persistence: aof-always}"
	}
	if why := r.setup.asksNoNode(); why != "" && d.Sound("workload", "lock.algorithm", "fencing.tokens") {
		d.ProblemAt(yamlform.Join(path, what), "never happens: no client sends anything to a node, %s", why)
	}
}

// checkPush makes sure that a node can push what is named, to a client of the lock.
func (r *FaultRules) checkPush(d *decoder, path, name string) {
	algorithm, _ := lock.Lookup(r.setup.Lock.Algorithm)
	if !slices.ContainsFunc(pushable, func(s string) bool { return strings.EqualFold(s, name) }) {
		d.ProblemAt(path, "never happens: no node pushes %s", yamlform.Clip(name)).Suggest(name, pushable)
	} else if r.setup.Lock.Program == nil && !algorithm.Wakes && d.Sound("lock.algorithm") {
		d.ProblemAt(path, "never happens: nobody wakes those who wait for the lock %s", algorithm.Name).Hint =
			"these locks wake them: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.Wakes }), ", ")
	}
}

// asksNoNode says why no client of the setup sends a node anything but messages to the resource; empty: one may.
func (s *Setup) asksNoNode() string {
	a, _ := lock.Lookup(s.Lock.Algorithm)
	if s.Workload.Workload().Pair {
		return "because the workload " + string(s.Workload.Kind) + " takes no lock"
	}
	if s.Lock.Program != nil {
		return ""
	}
	if a.Keyless {
		return "because the lock " + a.Name + " has no key"
	}
	if a.Consensus && s.Fencing.Tokens != lock.SingleCounter {
		return "because the lock " + a.Name + " is kept in another store"
	}
	return ""
}

// checkAnd makes sure that what must have happened before can have.
func (r *FaultRules) checkAnd(d *decoder, path string, o *nemesis.On) {
	if o.And == nil {
		return
	}
	r.checkPassing(d, path, o.And)
	on, and := o.Passing, *o.And
	if on.Nth, and.Nth = max(on.Nth, 1), max(and.Nth, 1); on.Nth >= and.Nth {
		return
	}
	if on.Nth = and.Nth; on == and {
		d.ProblemAt(yamlform.Join(path, "nth"), "never happens before: it is the same as on, at a later time")
	}
}
