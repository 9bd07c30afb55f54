package client

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// ProgramGrant is what is known of the latest grant of a lock program. It has no clock, and is for one caller at a time.
type ProgramGrant struct {
	// latest is the grant of the last acquire, with its owner; those before it count no
	// more. gone: it is lost.
	latest uint64
	owner  string
	gone   bool
	// until is the end that its latest renewal told.
	until time.Duration
}

// Acquired takes in the answer to an acquire.
func (p *ProgramGrant) Acquired(a program.Answer) lock.Grant {
	g := lock.Grant{ID: a.Grant, Owner: history.OwnerText(string(a.Owner)), Until: a.From + a.Validity, Forever: !a.Valid}
	if a.Token != nil {
		g.Token, g.HasToken = *a.Token, true
	}
	if p.latest < g.ID {
		p.latest, p.gone, p.until = g.ID, false, 0
	}
	p.owner = g.Owner
	return g
}

// Extended is a grant after the answer to an extension of it. A program that tells no validity promises nothing new.
func (p *ProgramGrant) Extended(g lock.Grant, a program.Answer) lock.Grant {
	if a.Type == program.Extended && a.Valid {
		g.Until, g.Forever = a.From+a.Validity, false
		if g.ID == p.latest {
			p.until = g.Until
		}
	}
	return g
}

// Remaining is for how long a grant is valid at a time.
func (p *ProgramGrant) Remaining(g lock.Grant, now time.Duration) time.Duration {
	if g.Forever {
		return math.MaxInt64
	}
	until := g.Until
	if g.ID == p.latest {
		until = max(until, p.until)
	}
	return until - now
}

// IsLost reports whether the program said that it has lost a grant.
func (p *ProgramGrant) IsLost(g lock.Grant) bool { return p.gone && p.latest == g.ID }

// Renewed takes in that the program renewed a grant; false: it does not count any more.
func (p *ProgramGrant) Renewed(grant uint64, until time.Duration) (g lock.Grant, counts bool) {
	if !p.counts(grant, false) {
		return lock.Grant{}, false
	}
	p.until = max(p.until, until)
	return lock.Grant{ID: grant, Owner: p.owner, Until: until}, true
}

// Lost takes in that the program has lost a grant; false: it does not count any more.
func (p *ProgramGrant) Lost(grant uint64) (owner string, counts bool) {
	counts = p.counts(grant, true)
	return p.owner, counts
}

// counts reports whether an event is about the latest grant, of which the answer may be on its way.
func (p *ProgramGrant) counts(grant uint64, lost bool) bool {
	if grant < p.latest {
		return false
	}
	if grant > p.latest {
		p.latest, p.owner, p.gone, p.until = grant, "", false, 0
	}
	p.gone = p.gone || lost
	return true
}

// ProgramResult is what the client knows after an answer of a lock program.
func ProgramResult(a program.Answer, err error, want program.Type) lock.Result {
	switch {
	case err != nil:
		return lock.Result{Outcome: lock.Info, Err: err.Error()}
	case a.Type == want:
		return lock.Result{Outcome: lock.OK}
	case a.Type == program.Refused:
		return lock.Result{Outcome: lock.Fail, Err: a.Why}
	}
	return lock.Result{Outcome: lock.Info, Err: a.Why}
}

// LongestAcquire is how long an acquire of a lock program may take: as long as one of our own locks would wait
// between its attempts, and time for an attempt.
func LongestAcquire(c *lock.Config, nodes int) time.Duration {
	return c.Retry.Longest() + max(time.Duration(nodes)*c.NodeTimeout, program.MinWait)
}

// ProgramOptions are what a program is told of the scenario's lock beyond the protocol.
type ProgramOptions struct {
	lock.Config
	// Consensus is a store that no fault strikes, where the scenario's tokens come from one.
	Consensus *Address `json:"consensus,omitempty"`
}

// ProgramSetup is what a lock program is told; it can report points.
func (s *SetupMessage) ProgramSetup(points []string) (program.Setup, error) {
	c := s.Lock
	busy := program.MS(c.Busy)
	oneObject, shared := c.OneObject, c.Shared
	c.Program, c.Busy, c.OneObject, c.Shared, c.Fair = nil, 0, false, false, false
	text, err := json.Marshal(ProgramOptions{c, s.Consensus})
	if err != nil {
		return program.Setup{}, fmt.Errorf("failed to write the lock's settings: %w", err)
	}
	p := program.Setup{
		Client: s.Client, Process: s.Process, Seed: s.Seed & (1<<53 - 1), // exact in any language's JSON
		Lock: program.Lock{Key: c.Key, TTLMS: program.TTLMS(c.TTL), NodeTimeoutMS: program.MS(c.NodeTimeout), Permits: c.Permits,
			AtLeastMS: program.MS(c.AtLeast), Options: text},
		Topology: program.Independent, BusyMS: busy, OneObject: oneObject,
		Points: slices.DeleteFunc(slices.Clone(s.Points), func(name string) bool { return !slices.Contains(points, name) }),
	}
	switch {
	case len(s.Sentinels) > 0:
		p.Topology, p.Master = program.Watched, s.Master
	case len(s.Clusters) > 0:
		p.Topology = program.Clustered
	case s.Replicated:
		p.Topology = program.Replicated
	}
	if s.Modes {
		p.Lock.Mode = program.Exclusive
		if shared {
			p.Lock.Mode = program.Shared
		}
	}
	if p.Nodes, err = programNodes(s.Nodes); err == nil {
		p.Sentinels, err = programNodes(s.Sentinels)
	}
	return p, err
}

// Named is the client's name in messages to its lock program: it is told where the program is several clients.
func (s *SetupMessage) Named() string {
	if len(s.Process) < 2 {
		return ""
	}
	return s.Client
}

// Joins reports that the client is there beside others of its process, which have been set up.
func (s *SetupMessage) Joins() bool { return len(s.Process) > 1 && s.Client != s.Process[0] }

// programNodes are servers as a program is told of them.
func programNodes(addresses []Address) ([]program.Node, error) {
	list := make([]program.Node, 0, len(addresses))
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a.Address)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", a.Name, err)
		}
		n := program.Node{Name: a.Name, Host: host, Username: a.Username, Password: a.Password()}
		if n.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("node %s: %w", a.Name, err)
		}
		if a.TLS != nil {
			n.TLS = &program.TLS{ServerName: a.TLS.ServerName, CA: a.TLS.CA}
		}
		list = append(list, n)
	}
	return list, nil
}
