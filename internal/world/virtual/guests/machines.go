//go:build linux && amd64

package guests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	// hosts have the names of nodes and clients.
	hosts map[string]*supervisor.Host
	// standing are servers that were left by the run before, ready for the next, by the names of their hosts.
	standing map[string]*standingServer
	// waiting are lock programs that wait for another setup, by the names of their clients.
	waiting map[string]*waitingProgram
}

// newMachines makes the hosts that a run needs, whose clocks begin at wall. It binds the goroutine to its thread.
func newMachines(spec *world.Spec, wall time.Duration) (*machines, error) {
	m := &machines{hosts: make(map[string]*supervisor.Host), standing: make(map[string]*standingServer),
		waiting: make(map[string]*waitingProgram)}
	var err error
	if m.scratch, err = machine.Scratch(); err != nil {
		return nil, err
	}
	if m.sup, err = supervisor.New(supervisor.Config{Wall: wall}); err != nil {
		return nil, errors.Join(err, machine.Discard(m.scratch))
	}
	m.makeHosts(spec)
	return m, nil
}

// makeHosts gives each node and client a machine with an address of its own, below 127: what slips through ends on this machine.
func (m *machines) makeHosts(spec *world.Spec) {
	add := func(subnet byte, names []string) {
		for i, name := range names {
			m.hosts[name] = m.sup.NewHost(name, [4]byte{127, 0, subnet, byte(i + 1)})
		}
	}
	var nodes, sentinels []string
	for _, n := range spec.Nodes {
		nodes = append(nodes, n.Name)
	}
	if spec.Sentinel != nil {
		sentinels = spec.Sentinel.Names
	}
	add(1, nodes)
	add(2, sentinels)
	add(3, spec.Clients)
	add(4, []string{history.ResourceProcess})
}

// end ends all that runs on them.
func (m *machines) end() error {
	m.sup.Close()
	return machine.Discard(m.scratch)
}

// homes is where hosts have their folders. The name of the scratch folder ends with up to ten digits, and what a program allocates may
// depend on the length of a path. So that is the same in all runs, and mostly on all machines.
func homes(scratch string) string {
	const digits, step = 10, 32
	longest := strings.LastIndexByte(scratch, '-') + 1 + digits
	return filepath.Join(scratch, strings.Repeat("x", (longest/step+1)*step-len(scratch)))
}

// folder is a folder of a host's own.
func (m *machines) folder(name string) (string, error) { return folderIn(m.scratch, name) }

func folderIn(scratch, name string) (string, error) {
	dir := filepath.Join(homes(scratch), name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("failed to make a folder for %s: %w", name, err)
	}
	return dir, nil
}
