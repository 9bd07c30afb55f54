package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// MigrateWithin is how long redis-cli lets a server stand still that gives keys away (MIGRATE). OrderedWithin is how long somebody
// who gives a server an order waits for its answer.
const (
	MigrateWithin = time.Minute
	OrderedWithin = 2 * MigrateWithin
)

// Server is a node of a cluster to its operator.
type Server interface {
	Name() string
	// Answers reports that it is up and does not stand still.
	Answers() bool
	// Order lets it carry out a command, and returns what it answers.
	Order(words ...string) (answer any, err error)
}

// Move moves a slot from one primary to another, with the commands of redis-cli --cluster reshard.
type Move struct {
	// Servers are all nodes, of which the first Primaries are primaries at the start.
	Servers   []Server
	Primaries int
	Slot      int
	// KeysFirst: the keys of the slot move as soon as it is open; KeysLeft: never; otherwise at the end.
	KeysFirst, KeysLeft bool
	// Atomic: the servers move the slot by themselves (CLUSTER MIGRATESLOTS).
	Atomic bool
	// Reach is the address at which one server reaches another; nil: that at which the other is known.
	Reach func(from, to string) (address string, err error)

	from, to member
	slot     string
}

// member is a node as it sees itself.
type member struct {
	Server
	id, address string
	primary     bool
	epoch       int64
	// has says that it has the slot.
	has bool
}

// look asks a node what it is.
func (m *Move) look(s Server) (one member, err error) {
	answer, err := s.Order("cluster", "nodes")
	if err != nil {
		return one, err
	}
	for line := range strings.Lines(fmt.Sprint(answer)) {
		f := strings.Fields(line)
		if len(f) < 8 || !strings.Contains(f[2], "myself") {
			continue
		}
		one = member{Server: s, id: f[0], primary: strings.Contains(f[2], "master")}
		one.address, _, _ = strings.Cut(f[1], "@")
		one.epoch, _ = strconv.ParseInt(f[6], 10, 64)
		one.has = slices.ContainsFunc(f[8:], func(s string) bool { return hasSlot(s, m.Slot) })
	}
	return one, nil
}

// hasSlot reports that a slot is one of those that a node tells of: 93, or 0-5460.
func hasSlot(told string, slot int) bool {
	first, last, err := command.ParseSlots(told)
	return err == nil && first <= slot && slot <= last
}

// Open opens the slot between the primary that has it and another.
func (m *Move) Open(to string) error {
	m.slot = strconv.Itoa(m.Slot)
	for _, s := range m.Servers {
		if !s.Answers() {
			continue
		}
		one, err := m.look(s)
		if err != nil {
			return err
		}
		if s.Name() == to {
			m.to = one
		}
		if one.primary && one.has && (m.from.Server == nil || one.epoch > m.from.epoch) {
			m.from = one
		}
	}
	switch {
	case m.to.Server == nil || !m.to.primary:
		return fmt.Errorf("node %s is no primary that answers", to)
	case m.from.Server == nil:
		return errors.New("no primary that answers has the slot")
	case m.from.Server == m.to.Server:
		return fmt.Errorf("node %s has the slot already", to)
	}
	if m.Atomic {
		_, err := m.from.Order("cluster", "migrateslots", "slotsrange", m.slot, m.slot, "node", m.to.id)
		return err
	}
	if _, err := m.to.Order("cluster", "setslot", m.slot, "importing", m.from.id); err != nil {
		return err
	}
	if _, err := m.from.Order("cluster", "setslot", m.slot, "migrating", m.to.id); err != nil {
		return err
	}
	if m.KeysFirst {
		return m.moveKeys()
	}
	return nil
}

// moveKeys lets the old primary give its keys of the slot to the new one.
func (m *Move) moveKeys() error {
	address := m.to.address
	if m.Reach != nil {
		var err error
		if address, err = m.Reach(m.from.Name(), m.to.Name()); err != nil {
			return err
		}
	}
	ip, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	for {
		answer, err := m.from.Order("cluster", "getkeysinslot", m.slot, "10")
		if err != nil {
			return err
		}
		list, _ := answer.([]any)
		if len(list) == 0 {
			return nil
		}
		words := []string{"migrate", ip, port, "", "0", strconv.FormatInt(MigrateWithin.Milliseconds(), 10), "keys"}
		for _, key := range list {
			words = append(words, fmt.Sprint(key))
		}
		if _, err := m.from.Order(words...); err != nil {
			return err
		}
	}
}

// Finish gives the slot to the new primary, if both are there yet and no failover came between.
func (m *Move) Finish() error {
	if m.Atomic { // the servers end it
		return nil
	}
	for _, one := range []member{m.from, m.to} {
		if !one.Answers() {
			return nil
		}
		now, err := m.look(one.Server)
		if err != nil || !now.primary || one.Server == m.from.Server && !now.has {
			return err
		}
	}
	if !m.KeysLeft {
		if err := m.moveKeys(); err != nil {
			return err
		}
	}
	if err := m.assign(m.to.Server); err != nil || m.KeysLeft {
		return err
	}
	if err := m.assign(m.from.Server); err != nil {
		return err
	}
	for _, s := range m.Servers[:m.Primaries] {
		if s == m.from.Server || s == m.to.Server || !s.Answers() {
			continue
		}
		if err := m.assign(s); err != nil {
			return err
		}
	}
	return nil
}

// assign tells a node who has the slot now. One that is no primary any more hears it from others.
func (m *Move) assign(s Server) error {
	_, err := s.Order("cluster", "setslot", m.slot, "node", m.to.id)
	if err == nil || !s.Answers() {
		return nil
	}
	if now, why := m.look(s); why == nil && !now.primary {
		return nil
	}
	return err
}
