package scenario

import (
	"reflect"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// checkDiffering makes sure that clients whose lock differs are there, that it does, and that such locks can be beside one another.
func (d *decoder) checkDiffering(s *Setup) {
	for _, client := range s.Lock.Differing() {
		path, one := yamlform.Join("lock.clients", client), s.Lock.For(client)
		switch {
		case !d.Sound("workload.clients", "lock"):
		case !slices.Contains(ClientNames(s.Workload.Clients), client):
			d.ProblemAt(path, "there is no such client, but %s", words.Count(s.Workload.Clients, "client")).Hint =
				"they are called c1, c2, c3, ... (workload.clients)"
		case s.Lock.Program != nil && s.Lock.Clients[client].Algorithm != "":
			d.ProblemAt(path+".algorithm", "the lock is a program").Hint = "sim run --lock PROGRAM --lock-of " + client + "=OTHER"
		case reflect.DeepEqual(one, s.Lock.For("")):
			d.ProblemAt(path, "its lock is as that of the others").Hint = "lock: {clients: {" + client + ": {ttl: 5s}}}"
		case s.Workload.PerProcess > 1:
			d.ProblemAt(path, "clients that share a process have the same lock").Hint = "leave out workload.per_process, or lock.clients"
		case s.Workload.Workload().Pair:
			d.ProblemAt(path, "%s take no lock", s.Workload.Kind)
		default:
			d.checkDifferingTimes(s, &one, path)
			d.checkDifferingKey(s, &one, path)
			d.checkDifferingAlgorithm(s, client)
		}
	}
}

func (d *decoder) checkDifferingTimes(s *Setup, one *lock.Config, path string) {
	switch {
	case one.TTL == s.Lock.TTL || !d.Sound("lock.ttl"):
	case s.Lock.TTL == 0:
		d.ProblemAt(path+".ttl", "the lock has no ttl, for no client")
	case one.NodeTimeout >= one.TTL:
		d.ProblemAt(path+".ttl", "%v is not longer than the node_timeout %v", one.TTL, one.NodeTimeout)
	case one.AtLeast > one.TTL:
		d.ProblemAt(path+".ttl", "%v is shorter than at_least, %v", one.TTL, one.AtLeast)
	}
}

// checkDifferingKey: the slot of the lock is one.
func (d *decoder) checkDifferingKey(s *Setup, one *lock.Config, path string) {
	if s.Nodes.Clustered() && command.Slot(one.Key) != command.Slot(s.Lock.Key) {
		d.ProblemAt(path+".key", "in a Redis Cluster it is in another slot than %q", s.Lock.Key).Hint = "key: \"{" + s.Lock.Key + "}:old\""
	}
}

// checkDifferingAlgorithm makes sure that a lock can do what those of the others do here.
func (d *decoder) checkDifferingAlgorithm(s *Setup, client string) {
	others, known := lock.Lookup(s.Lock.Algorithm)
	if !known { // of which somebody else complains, or it is a program
		return
	}
	path, one := yamlform.Join("lock.clients", client)+".algorithm", s.Lock.For(client)
	a, ok := lock.Lookup(one.Algorithm)
	if !ok {
		d.ProblemAt(path, "no lock algorithm %q", yamlform.Clip(one.Algorithm)).Suggest(one.Algorithm, algorithmNames())
		return
	}
	if n := s.Nodes.endpoints(); a.Name != others.Name && d.Sound("nodes") && (n < a.MinNodes || a.MaxNodes > 0 && n > a.MaxNodes) {
		d.ProblemAt(path, "%s uses %s, not %d", a.Name, a.NodeRange(), n)
	}
	if misfit := s.misfit(a, others); misfit != "" {
		d.ProblemAt(path, "%s does not fit the lock of the others, %s: it %s", a.Name, others.Name, misfit)
	}
	d.checkSwitches(s.Lock.Clients[client].Mistakes, a, yamlform.Join("lock.clients", client))
}

// misfit is why a lock cannot be beside another one in this setup; empty: it can.
func (s *Setup) misfit(a, others lock.Algorithm) string {
	switch {
	case a.Semaphore != others.Semaphore || a.Modes != others.Modes:
		return "lets others in beside one client, or theirs does"
	case a.Consensus != others.Consensus || a.Keyless != others.Keyless:
		return "is kept in another place"
	case s.Lock.AtLeast > 0 && !a.StaysAtLeast:
		return "is free once it is released (lock.at_least)"
	case s.Lock.Fair && !a.Fair:
		return "serves clients in no order (lock.fair)"
	case s.Lock.TTL == 0 && !a.Endless:
		return "cannot do without a ttl"
	case s.Workload.Extend > 0 && !a.Extends:
		return "cannot be extended by its user (workload.extend)"
	case s.Workload.Leave == workload.LeavesHeld && a.Renews():
		return "renews what is not released (workload.leave)"
	case !slices.Contains(a.Tokens, s.Fencing.Tokens):
		return "has no tokens " + string(s.Fencing.Tokens)
	}
	return ""
}
