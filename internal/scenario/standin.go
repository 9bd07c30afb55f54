package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// StandIn is a lock that is put in the place of a scenario's own.
type StandIn struct {
	// Program is a lock program; nil: the lock is a built-in one.
	Program *lock.Program
	// BuiltIn is the built-in lock: its algorithm and its mistakes.
	BuiltIn lock.Config
	// Ready is what the lock says of itself.
	Ready program.Ready
	// Others are the locks of single clients, where they are other ones: programs if this is one, and else built-in locks.
	Others map[string]*StandIn
}

var clientName = regexp.MustCompile(`^c[1-9][0-9]{0,2}$`)

// IsClientName reports that a client of some scenario can be called so.
func IsClientName(name string) bool { return clientName.MatchString(name) }

var lockName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// IsLockName reports that a lock can be called so where several are told apart: up to 40 letters, digits, dots, dashes
// and underscores.
func IsLockName(name string) bool { return lockName.MatchString(name) }

// NewBuiltIn makes a built-in lock a stand-in. It has a client for a cluster, which it has not as a lock program.
func NewBuiltIn(c lock.Config, version string) *StandIn {
	s := &StandIn{BuiltIn: c, Ready: Describe(c, version)}
	s.Ready.Can = append(s.Ready.Can, program.AsksCluster)
	return s
}

// Command is what stands behind --lock for it.
func (s *StandIn) Command() string {
	if s.Program != nil {
		return shellquote.Join(s.Program.Command...)
	}
	return shellquote.Join(Words(s.BuiltIn.Algorithm, s.BuiltIn.Mistakes)...)
}

// Words name a built-in lock on a command line, with the rules that it does not keep.
func Words(algorithm string, made lock.Mistakes) []string {
	words := []string{algorithm}
	for _, rule := range made.Rules() {
		words = append(words, "--switch", rule)
	}
	return words
}

// Describe is what a built-in lock would say of itself as a lock program.
func Describe(c lock.Config, version string) program.Ready {
	a, _ := lock.Lookup(c.Algorithm)
	r := program.Ready{
		Protocol: program.Version, Name: a.Name, Version: version, Homepage: "https://github.com/redlock-sim/redlock-sim",
		Can:   []program.Ability{program.TellsValidity, program.TellsOwner, program.AsksSentinels, program.KeepsBusy, program.Cancels},
		Class: classOf(a), Keys: []string{program.KeyPattern},
		TTLMin: 1, TTLStep: 1, Points: lock.PointsOn(a.Points, lock.MostNodes),
	}
	for _, rule := range c.Mistakes.Rules() {
		r.Name += " without " + rule
	}
	if !a.Semaphore && !a.Modes {
		r.Can = append(r.Can, program.IsSeveral)
	}
	if a.Renews() {
		r.Can = append(r.Can, program.Renews)
	}
	if a.Ownerless {
		r.Can = slices.DeleteFunc(r.Can, func(can program.Ability) bool { return can == program.TellsOwner })
	}
	if a.Semaphore {
		r.Can = append(r.Can, program.HasPermits)
	}
	if a.Modes {
		r.Can = append(r.Can, program.HasModes)
	}
	if a.Upgrades() {
		r.Can = append(r.Can, program.CanUpgrade)
	}
	if a.Wakes {
		r.Can = append(r.Can, program.Wakes)
	}
	if a.Fair {
		r.Can = append(r.Can, program.KeepsOrder)
	}
	if a.StaysAtLeast {
		r.Can = append(r.Can, program.StaysAtLeast)
	}
	if a.Extends {
		r.Can = append(r.Can, program.Extends)
	}
	if a.Endless {
		r.Can = append(r.Can, program.DoesWithoutTTL)
	}
	if a.Forgets() {
		r.Can = append(r.Can, program.Forgets)
	}
	if a.GrowingTokens() != lock.NoTokens {
		r.Can, r.Points = append(r.Can, program.TellsToken), append(r.Points, lock.PointBeforeToken, lock.PointToken)
	}
	return r
}

// classOf says what keeps a built-in lock.
func classOf(a lock.Algorithm) program.Class {
	switch {
	case a.Consensus:
		return program.Session
	case a.MaxNodes == 1:
		return program.Single
	case a.Keyless:
		return program.Other
	}
	return program.Quorum
}

// With puts another lock in the place of the variant's own. What counts is then what the
// scenario demands of any lock of such a class. A built-in lock has its own settings, as a
// program has: of the scenario's it is told the key, the times and how to retry.
func (v Variant) With(s *StandIn) Variant {
	v = v.Fit(&s.Ready).Demanding(&s.Ready)
	kept := func(string) bool { return true }
	if s.Program != nil {
		v.Setup.Lock.Algorithm, v.Setup.Lock.Program = "", s.Program
	} else {
		v.Setup.Lock, v.Setup.Fencing.Tokens = s.builtIn(&v.Setup)
		kept = func(setting string) bool {
			return slices.ContainsFunc([]string{"key", "ttl", "permits", "at_least", "node_timeout", "retry"}, func(key string) bool {
				return strings.HasPrefix(setting, "lock."+key)
			})
		}
	}
	v.Setup.Lock.Clients = s.differing(v.Setup.Lock.Clients)
	v.Settings = slices.DeleteFunc(slices.Clone(v.Settings), func(setting string) bool {
		return strings.HasPrefix(setting, "lock.") && !kept(setting) ||
			strings.HasPrefix(setting, "lock.algorithm:") || strings.HasPrefix(setting, "lock.program.")
	})
	return v
}

// differing are the clients that differ once the stand-in is there: from the others of the scenario in what any lock is told, and in
// the locks that they are given.
func (s *StandIn) differing(told map[string]lock.Difference) map[string]lock.Difference {
	list := make(map[string]lock.Difference)
	for client, d := range told {
		if d = (lock.Difference{Key: d.Key, TTL: d.TTL}); !d.IsNone() {
			list[client] = d
		}
	}
	for client, other := range s.Others {
		d := list[client]
		if d.Program = other.Program; other.Program == nil {
			d.Algorithm, d.Mistakes = other.BuiltIn.Algorithm, other.BuiltIn.Mistakes
		}
		list[client] = d
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// builtIn is the built-in lock with the settings that any lock is told, and the source of its
// tokens: the scenario's where the lock has it and it orders the grants, else its own.
func (s *StandIn) builtIn(setup *Setup) (lock.Config, lock.Tokens) {
	c, told := StandardLock(s.BuiltIn.Algorithm), setup.Lock
	c.Mistakes, c.Key, c.TTL, c.NodeTimeout, c.Retry = s.BuiltIn.Mistakes, told.Key, told.TTL, told.NodeTimeout, told.Retry
	c.Permits, c.AtLeast, c.Fair, c.Clients = told.Permits, told.AtLeast, told.Fair, told.Clients
	a, _ := lock.Lookup(c.Algorithm)
	tokens := setup.Fencing.Tokens
	if tokens != lock.NoTokens && a.Consensus {
		tokens = lock.Consensus
	} else if tokens != lock.NoTokens && (tokens == lock.NodeCounterMax || !slices.Contains(a.Tokens, tokens)) {
		tokens = a.GrowingTokens()
	}
	if c.Mistakes.TokenFirst && tokens == lock.QuorumCounter { // it comes with the grant
		tokens = lock.Consensus
	}
	return c, tokens
}

// NotApplicable says why the stand-in cannot be put on trial by this setup; empty: it can.
func (s *StandIn) NotApplicable(setup *Setup) string {
	a, _ := lock.Lookup(s.BuiltIn.Algorithm)
	if setup.Lock.Permits == 0 && s.Program == nil && a.Semaphore {
		return "one client is to hold the lock at a time, and it has permits"
	}
	if setup.Workload.Readers == 0 && s.Program == nil && a.Modes {
		return "one client is to hold the lock at a time, and it has readers"
	}
	if s.Program == nil && a.Replicas && !setup.Nodes.Replicated() {
		return "it waits for a replica, and the nodes have none"
	}
	if s.Program == nil && a.Syncs && !setup.Nodes.Persistence.AppendOnly() {
		return "it waits for the node's append-only file, and the nodes keep none"
	}
	return cmp.Or(setup.NotApplicable(&s.Ready), s.othersNotApplicable(setup))
}

// othersNotApplicable says why the locks of single clients cannot be beside the stand-in; empty: they can.
func (s *StandIn) othersNotApplicable(setup *Setup) string {
	for _, client := range slices.Sorted(maps.Keys(s.Others)) {
		other := s.Others[client]
		if !slices.Contains(ClientNames(setup.Workload.Clients), client) {
			return fmt.Sprintf("there is no client %s, but %s", client, words.Count(setup.Workload.Clients, "client"))
		}
		one := *setup
		one.Lock = setup.Lock.For(client)
		a, _ := lock.Lookup(s.BuiltIn.Algorithm)
		b, _ := lock.Lookup(other.BuiltIn.Algorithm)
		why := cmp.Or(other.NotApplicable(&one), apart(&s.Ready, &other.Ready))
		if s.Program == nil && why == "" {
			if why = setup.misfit(b, a); why != "" {
				why = b.Name + " " + why
			}
		}
		if why != "" {
			return client + " has another lock: " + why
		}
	}
	return ""
}

// apart says why two lock programs are no two versions of one lock; empty: they can be.
func apart(a, b *program.Ready) string {
	switch {
	case a.Class != b.Class:
		return fmt.Sprintf("its class is %s, and that of the others is %s", b.Class, a.Class)
	case a.Store != b.Store:
		return "it is kept on another server than theirs"
	case a.Lease != b.Lease:
		return "only one of the two keeps its lease in the value of its key"
	}
	return ""
}
