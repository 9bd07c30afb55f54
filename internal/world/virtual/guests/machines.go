//go:build linux && amd64

package guests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// machines are the hosts of nodes and clients, with the supervisor that they are in and the folder that they share. One run may be made
// on them after the other.
type machines struct {
	sup     *supervisor.Supervisor
	scratch string
	// clients are the hosts of clients, and hosts all of the run, by their names.
	clients, hosts map[string]*supervisor.Host
	// sites have nodes that are arranged in several ways, the one that was used last at the end: that is the run's.
	sites []*site
	// waiting are lock programs that wait for another setup, by the names of their clients.
	waiting map[string]*waitingProgram
}

// site has the hosts of servers that are arranged in one way. Those of other sites are away meanwhile: lock programs may go from one to
// the other.
type site struct {
	arrangement string
	// number tells it from the others that are there.
	number int
	hosts  map[string]*supervisor.Host
	// standing are servers that were left by the run before, ready for the next, by the names of their hosts.
	standing map[string]*standingServer
}

// mostSites bounds how many sites are kept. Each has up to a dozen processes.
const mostSites = 8

// newMachines makes machines whose clocks begin at wall. It binds the goroutine to its thread.
func newMachines(wall time.Duration) (*machines, error) {
	m := &machines{clients: make(map[string]*supervisor.Host), waiting: make(map[string]*waitingProgram)}
	var err error
	if m.scratch, err = machine.Scratch(); err != nil {
		return nil, err
	}
	if m.sup, err = supervisor.New(supervisor.Config{Wall: wall}); err != nil {
		return nil, errors.Join(err, machine.Discard(m.scratch))
	}
	return m, nil
}

// arrange gives each node and client of a run a machine with an address of its own, below 127: what slips through ends on this machine.
func (m *machines) arrange(spec *world.Spec) {
	for _, h := range m.hosts {
		h.Away = true
	}
	at := m.take(arrangement(spec))
	m.sites = append(m.sites, at)
	m.hosts = make(map[string]*supervisor.Host)
	add := func(to map[string]*supervisor.Host, subnet byte, names []string) {
		for i, name := range names {
			if to[name] == nil {
				to[name] = m.sup.NewHost(name, [4]byte{127, 0, subnet, byte(i + 1)})
			}
			to[name].Away = false
			m.hosts[name] = to[name]
		}
	}
	var nodes, sentinels []string
	for _, n := range spec.Nodes {
		nodes = append(nodes, n.Name)
	}
	if spec.Sentinel != nil {
		sentinels = spec.Sentinel.Names
	}
	add(at.hosts, 1, nodes)
	add(at.hosts, 2, sentinels)
	add(m.clients, 3, spec.Clients)
	add(at.hosts, 4, []string{history.ResourceProcess})
}

// arrangement is what must be the same of the servers of two runs that are made at the same site.
func arrangement(spec *world.Spec) string {
	return fmt.Sprint(spec.Nodes, spec.Replicated, spec.Sentinel, spec.Cluster, spec.SharedStore, spec.StorePersistence)
}

// take takes a site out of those that are there, or makes one. The one that was not used for longest ends if there are too many.
func (m *machines) take(wanted string) *site {
	if i := slices.IndexFunc(m.sites, func(s *site) bool { return s.arrangement == wanted }); i >= 0 {
		at := m.sites[i]
		m.sites = slices.Delete(m.sites, i, i+1)
		return at
	}
	if len(m.sites) == mostSites {
		for _, h := range m.sites[0].hosts {
			m.sup.Remove(h)
		}
		m.sites = slices.Delete(m.sites, 0, 1)
	}
	number := 0
	for slices.ContainsFunc(m.sites, func(s *site) bool { return s.number == number }) {
		number++
	}
	return &site{wanted, number, make(map[string]*supervisor.Host), make(map[string]*standingServer)}
}

// site is that of the run.
func (m *machines) site() *site { return m.sites[len(m.sites)-1] }

// end ends all that runs on them.
func (m *machines) end() error {
	m.sup.Close()
	return machine.Discard(m.scratch)
}

// homes is where the hosts of a site have their folders. The name of the scratch folder ends with up to ten digits, and what a program
// allocates may depend on the length of a path. So that is the same in all runs, and mostly on all machines.
func homes(scratch string, site int) string {
	const digits, step = 10, 32
	longest := strings.LastIndexByte(scratch, '-') + 1 + digits
	return filepath.Join(scratch, strings.Repeat("x", (longest/step+1)*step-len(scratch)-1)+string(rune('a'+site)))
}

// folder is a folder of a server's own.
func (m *machines) folder(name string) (string, error) {
	return folderIn(homes(m.scratch, m.site().number), name)
}

func folderIn(homes, name string) (string, error) {
	dir := filepath.Join(homes, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("failed to make a folder for %s: %w", name, err)
	}
	return dir, nil
}
