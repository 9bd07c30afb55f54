package trackrecord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// versions are those that something was measured with.
type versions struct {
	Sim     string `json:"sim"`
	Redis   string `json:"redis"`
	Library string `json:"library"`
	// Command is that of the lock program.
	Command string `json:"command"`
}

// same: what was measured with v need not be measured again. A new Redis or a new sim is no reason to: the record says
// which it was.
func (v versions) same(now versions) bool {
	v.Redis, v.Sim = now.Redis, now.Sim
	return v == now
}

// searched is what search.json says about the search of a library, beside its state.
type searched struct {
	versions
	// Topology is how the nodes were arranged; empty: as suits the lock.
	Topology string `json:"topology,omitempty"`
	// World is that of the search: virtual; empty: live.
	World string `json:"world,omitempty"`
	// Proved are the properties of which a search in virtual time found a violation that is certain. In real time Report tells.
	Proved []checker.Property `json:"proved,omitempty"`
	// Store is where the lock is kept if it is not in Redis: then there is no search.
	Store string `json:"store,omitempty"`
	// Commands are the command lines, one for each time that the search went on.
	Commands []string `json:"commands,omitempty"`
	// Started and Ended are RFC 3339.
	Started string `json:"started,omitempty"`
	Ended   string `json:"ended,omitempty"`
	// What the state of the search says after each command.
	TookMS     int64              `json:"took_ms,omitempty"`
	Properties []checker.Property `json:"properties,omitempty"`
	Report     explore.Report     `json:"report"`
	// Withheld stands in the place of the classes that are taken out of Report, because no reported finding explains them.
	Withheld []withheldClass `json:"withheld,omitempty"`
	// Done: the last command came to its end. So what was found was made smaller, and written.
	Done bool `json:"done"`
}

// withheldClass is what may be said of a class of violations of which the maintainers of the library hear first.
type withheldClass struct {
	Guarantee string `json:"guarantee"`
	// Proved: it was found; else it is undecided.
	Proved bool `json:"proved,omitempty"`
}

// byDesign: no lock can keep it in a topology whose nodes fail over.
func (c withheldClass) byDesign() bool { return slices.Contains(request.Topologies(), c.Guarantee) }

// State is as that of a class.
func (c withheldClass) State() string {
	if c.Proved && c.byDesign() {
		return "By design"
	}
	return class{Proved: c.Proved}.State()
}

// Words say where it was found.
func (c withheldClass) Words() string {
	if c.byDesign() {
		return "something that a failover loses (" + c.Guarantee + "). " + scenario.Guarantee(c.Guarantee).ByDesign()
	}
	return "something in " + c.Guarantee + ". " + hearFirst
}

// lostByFailover are the properties that no lock can keep whose key, or line of waiting clients, is on nodes that fail over.
var lostByFailover = []checker.Property{
	checker.ExclusiveLease, checker.BackedGrant, checker.WithinPermits, checker.Fairness, checker.OrderedTokens,
}

// home is the guarantee of a class; where nodes fail over, that of what a failover does not lose, or else the topology's.
func (s *searched) home(c class) string {
	property := cmp.Or(c.Property, c.Properties()[0])
	if s.Topology != "" {
		rest := slices.DeleteFunc(c.Properties(), func(p checker.Property) bool { return slices.Contains(lostByFailover, p) })
		if len(rest) == 0 {
			return s.Topology
		}
		property = rest[0]
	}
	return string(scenario.Home(property))
}

func (s *searched) write(file string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return machine.WriteFile(file, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
}

// stored is what is kept of a library. A card that is not there is nil.
type stored struct {
	Card *card.Card
	// Searches are in the order of topologies.
	Searches []storedSearch
}

// storedSearch is what is kept of a search, and its state if it was made here. What is not there is nil.
type storedSearch struct {
	// topology is as that of searched.
	topology string
	Searched *searched
	State    *explore.State
}

// topologies are those in which a library is searched, if they apply: as suits the lock, and those that a search can be asked for.
func topologies() []string { return slices.Concat([]string{""}, request.Topologies()) }

// applies reports that a library can be searched in a topology.
func applies(topology string, r *program.Ready) bool {
	switch topology {
	case program.Clustered:
		return r.Has(program.AsksCluster)
	case program.Watched:
		return r.Has(program.AsksSentinels)
	}
	return true
}

func cardFile(root, name string) string { return filepath.Join(root, recordDir, name, "card.json") }

func searchFile(root, name, topology string) string {
	return filepath.Join(root, recordDir, name, ofTopology("search", topology)+".json")
}

// searchDir is where sim search works, foundDir where the scenarios are kept that it found: nobody has reported them yet.
func searchDir(root, name, topology string) string {
	return filepath.Join(root, workDir, name, ofTopology("search", topology))
}

func foundDir(root, name, topology string) string {
	return filepath.Join(root, UnreportedDir, "search", ofTopology(name, topology))
}

// ofTopology is the name of what there is for each topology.
func ofTopology(name, topology string) string {
	if topology == "" {
		return name
	}
	return name + "-" + topology
}

func readStored(root, name string) (*stored, error) {
	s := &stored{}
	err := readIf(cardFile(root, name), func(r io.Reader) (err error) {
		s.Card, err = card.Read(r)
		if err == nil && len(s.Card.Locks) != 1 {
			err = errors.New("want a card of one lock")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, topology := range topologies() {
		k, err := readSearch(root, name, topology)
		if err != nil {
			return nil, err
		}
		s.Searches = append(s.Searches, k)
	}
	return s, nil
}

func readSearch(root, name, topology string) (storedSearch, error) {
	k := storedSearch{topology: topology}
	err := readIf(searchFile(root, name, topology), func(r io.Reader) error {
		k.Searched = &searched{}
		return json.NewDecoder(r).Decode(k.Searched)
	})
	if err != nil || k.Searched == nil {
		return k, err
	}
	states, err := filepath.Glob(filepath.Join(searchDir(root, name, topology), "*.search.json"))
	if err == nil && len(states) == 1 {
		err = readIf(states[0], func(r io.Reader) (err error) { k.State, err = explore.ReadState(r); return err })
	}
	return k, err
}

// readIf reads a file if it is there.
func readIf(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// audited: the card need not be made again.
func (s *stored) audited(now versions) bool {
	if s.Card == nil || s.Card.Interrupted || !complete(s.Card) {
		return false
	}
	l := &s.Card.Locks[0]
	return versions{Sim: s.Card.Versions["sim"], Library: l.Version, Command: l.Command}.same(now)
}

// complete: the card has a row for each guarantee that there is now.
func complete(c *card.Card) bool {
	for _, g := range scenario.Guarantees() {
		if g != scenario.NoGuarantee && !slices.ContainsFunc(c.Guarantees, func(row card.Guarantee) bool { return row.Name == string(g) }) {
			return false
		}
	}
	return true
}

// took is how long was searched.
func (s *searched) took() time.Duration { return time.Duration(s.TookMS) * time.Millisecond }

// sum takes over what a state says.
func (s *searched) sum(state *explore.State) {
	if state != nil {
		s.TookMS, s.Properties, s.Report, s.Withheld = state.TookMS, state.Properties, state.Report(), nil
	}
}

// toldClass is what sim search --json tells of a class of violations.
type toldClass struct {
	Name string `json:"properties"`
	Runs uint64 `json:"runs"`
}

// include takes over what a search told that its state does not have: the runs that were made when its time was over.
func (s *searched) include(runs uint64, violated []toldClass) {
	s.Report.Runs = max(s.Report.Runs, runs)
	for _, told := range violated {
		at := slices.IndexFunc(s.Report.Classes, func(c explore.Class) bool { return c.Name == told.Name })
		if at < 0 {
			s.Report.Classes = append(s.Report.Classes, explore.Class{Name: told.Name, Runs: told.Runs})
		} else {
			s.Report.Classes[at].Runs = max(s.Report.Classes[at].Runs, told.Runs)
		}
	}
}

// atLeast is how long a search goes on if only what it found is still to be made smaller.
const atLeast = time.Second

// left is how long is still to be searched, 0 if nothing is left to do; and whether an earlier search goes on.
func (k *storedSearch) left(now versions, want time.Duration) (left time.Duration, resume bool) {
	if k.Searched == nil || !k.Searched.same(now) {
		return want, false
	}
	if left = (want - k.Searched.took()).Round(time.Second); left <= 0 && k.Searched.Done {
		return 0, true
	}
	if k.State == nil || k.Searched.World == "" { // it was made elsewhere, or in real time
		return want, false
	}
	left = (want - time.Duration(k.State.TookMS)*time.Millisecond).Round(time.Second)
	return max(left, atLeast), true
}
