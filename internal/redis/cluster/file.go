package cluster

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // for names, which are no secret
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// A cluster is one from the start: each node begins with the file that it would have written when all had met, with names that come from
// the seed. A meeting takes 6 to 10 s, and ends in the same.

// ConfigFile is where a node keeps what it knows of the cluster.
const ConfigFile = "nodes.conf"

// Shape is a cluster: its nodes, of which the first are primaries and the others follow them, one after the other.
type Shape struct {
	Seed      uint64
	Names     []string
	Primaries int
	// Slot is that of the lock, which the first primary has.
	Slot int
}

// Place is where a node is reached: by clients and replicas, and by the others at its bus.
type Place struct {
	Host      string
	Port, Bus int
}

// ID is how the nodes of a cluster, or sentinels, call each other.
func ID(seed uint64, name string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%d %s", seed, name))) //nolint:gosec // see above
}

// slotsOf are the slots of a primary, as from and to.
func (s *Shape) slotsOf(primary int) (from, to int) {
	n := s.Primaries
	part := (primary + s.Slot*n/command.Slots) % n
	bound := func(i int) int { return (i*command.Slots + n - 1) / n }
	return bound(part), bound(part+1) - 1
}

// File is what a node knows of the cluster at the start.
func (s *Shape) File(of string, place func(name string) Place) []byte {
	var b bytes.Buffer
	for i, name := range s.Names {
		flags, follows := "master", "-"
		if i >= s.Primaries {
			flags, follows = "slave", ID(s.Seed, s.Names[i%s.Primaries])
		}
		if name == of {
			flags = "myself," + flags
		}
		at := place(name)
		fmt.Fprintf(&b, "%s %s:%d@%d %s %s 0 0 %d connected", ID(s.Seed, name), at.Host, at.Port, at.Bus, flags, follows, i%s.Primaries+1)
		if i < s.Primaries {
			from, to := s.slotsOf(i)
			fmt.Fprintf(&b, " %d-%d", from, to)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", s.Primaries)
	return b.Bytes()
}

// Sight is the cluster in the eyes of a node.
type Sight struct {
	// Owner has the slot of the lock's key, with a configuration of an epoch.
	Owner string
	Epoch int64
	// Follows is whose replica the node itself is; empty: it is a primary.
	Follows string
	// Failed are those that it takes for failed, with a majority.
	Failed []string
	// Sends is to whom, as a primary, it sends the clients whose keys it has not, and Takes from whose clients it takes: the slot is open.
	Sends, Takes string
}

// Read reads a node's file.
func (s *Shape) Read(file string) (v Sight, err error) {
	names := make(map[string]string)
	for _, name := range s.Names {
		names[ID(s.Seed, name)] = name
	}
	for line := range strings.Lines(file) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		flags := strings.Split(f[2], ",")
		if slices.Contains(flags, "myself") {
			v.Follows = names[f[3]]
		}
		if slices.Contains(flags, "fail") {
			v.Failed = append(v.Failed, names[f[0]])
		}
		for _, slots := range f[8:] {
			if s.readOpen(slots, names, &v) {
				continue
			}
			first, last, err := command.ParseSlots(slots)
			if err != nil {
				return v, fmt.Errorf("slots %q in %s: %w", slots, ConfigFile, err)
			}
			if first <= s.Slot && s.Slot <= last {
				v.Owner = names[f[0]]
				if v.Epoch, err = strconv.ParseInt(f[6], 10, 64); err != nil {
					return v, fmt.Errorf("epoch %q in %s: %w", f[6], ConfigFile, err)
				}
			}
		}
	}
	return v, nil
}

// readOpen reads of a slot that is open, as [93->-name] or [93-<-name]; false: it is none.
func (s *Shape) readOpen(slot string, names map[string]string, v *Sight) bool {
	open, is := strings.CutPrefix(strings.TrimSuffix(slot, "]"), "[")
	number, to, sends := strings.Cut(open, "->-")
	from := ""
	if !sends {
		number, from, _ = strings.Cut(open, "-<-")
	}
	if is && number == strconv.Itoa(s.Slot) {
		v.Sends, v.Takes = names[to], names[from]
	}
	return is
}

// Tell tells what the node me sees now, and has not seen before.
func (v Sight) Tell(me string, before Sight, record func(history.Event)) {
	sees := func(word, about string) { record(v.Event(word, about)) }
	if was, is := before.Owner == me, v.Owner == me; is && !was {
		record(history.Event{F: history.NodePromoted})
	} else if was && !is {
		record(history.Event{F: history.NodeDemoted})
	}
	if before.Owner != v.Owner {
		sees(history.ClusterSlot, v.Owner)
	}
	if v.Sends != "" && before.Sends != v.Sends {
		sees(history.ClusterSends, v.Sends)
	}
	if v.Takes != "" && before.Takes != v.Takes {
		sees(history.ClusterTakes, v.Takes)
	}
	for _, node := range v.Failed {
		if !slices.Contains(before.Failed, node) {
			sees(history.ClusterFailed, node)
		}
	}
	for _, node := range before.Failed {
		if !slices.Contains(v.Failed, node) {
			sees(history.ClusterBack, node)
		}
	}
}

// Event is that something is so in the eyes of the node.
func (v Sight) Event(word, about string) history.Event {
	return history.Event{F: history.Cluster,
		Value: history.Value{Rare: &history.Rare{Detail: word, Target: about, Epoch: history.Some(v.Epoch)}}}
}

// Said is what a line of a node's log says of the cluster; empty: nothing.
func Said(line string) (word string) {
	_, state, is := strings.Cut(line, "Cluster state changed: ")
	switch {
	case !is:
		return ""
	case strings.TrimSpace(state) == "ok":
		return history.ClusterServes
	}
	return history.ClusterRefuses
}

// IsWhole reports that a node that answers CLUSTER INFO and CLUSTER NODES so sees all of so many nodes, and that they serve.
func IsWhole(info, nodes string, many int) bool {
	return strings.Contains(info, "cluster_state:ok") && strings.Count(nodes, " connected") == many && !strings.Contains(nodes, "fail")
}
