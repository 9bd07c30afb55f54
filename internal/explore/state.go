package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// State is where a search stands after some whole generations of runs: enough to
// go on as if it had never stopped.
type State struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Of identifies what is searched: a search is continued with the same only.
	Of string `json:"of"`
	// Properties are those of Search.
	Properties []checker.Property `json:"properties,omitempty"`
	// Runs and Drawn are counted as in Report.
	Runs  uint64 `json:"runs"`
	Drawn uint64 `json:"drawn"`
	// TookMS is how long has been searched.
	TookMS int64 `json:"took_ms,omitempty"`
	// Failed, Failure and Waypoints are counted as in Report, too.
	Failed     uint64  `json:"failed,omitempty"`
	Failure    string  `json:"failure,omitempty"`
	Unfinished uint64  `json:"unfinished,omitempty"`
	Slow       uint64  `json:"slow,omitempty"`
	Waypoints  []Class `json:"waypoints,omitempty"`
	// Commands are those of Real.
	Commands []string `json:"commands,omitempty"`
	Classes  []Class  `json:"classes"`
	Judged   []Class  `json:"judged"`
	Found    []Found  `json:"found"`
	// Corpus are the schedules that are changed further, the oldest first;
	// Reached counts the runs that reached each feature.
	Corpus  []kept   `json:"corpus"`
	Reached []uint32 `json:"reached"`
	// Behaviours are those seen, Level how they are sampled.
	Behaviours []uint64 `json:"behaviours"`
	Level      uint     `json:"level"`

	distinct distinct
}

// kept is an entry of the corpus.
type kept struct {
	Lineage  Lineage  `json:"lineage"`
	Features []uint16 `json:"features"`
}

const (
	stateFormat  = "redlock-sim-search"
	stateVersion = 2
)

func newState() *State { return &State{Format: stateFormat, Version: stateVersion} }

// ReadState reads what Write wrote.
func ReadState(r io.Reader) (*State, error) {
	s := &State{}
	if err := json.NewDecoder(r).Decode(s); err != nil {
		return nil, fmt.Errorf("failed to read the state of a search: %w", err)
	}
	if s.Format != stateFormat || s.Version != stateVersion {
		return nil, fmt.Errorf("not the state of a search, version %d: format %q, version %d", stateVersion, s.Format, s.Version)
	}
	if slices.ContainsFunc(s.Corpus, func(k kept) bool { return len(k.Lineage) == 0 }) ||
		slices.ContainsFunc(s.Found, func(f Found) bool { return len(f.Lineage) == 0 }) {
		return nil, fmt.Errorf("the state of the search is damaged: a schedule without an origin")
	}
	s.distinct.level = min(s.Level, 63)
	for _, h := range s.Behaviours {
		s.distinct.add(h)
	}
	s.Behaviours = nil
	return s, nil
}

// Write writes the state as JSON.
func (s *State) Write(w io.Writer) error {
	out := *s
	out.Level = s.distinct.level
	for h := range s.distinct.kept {
		out.Behaviours = append(out.Behaviours, h)
	}
	slices.Sort(out.Behaviours)
	return json.NewEncoder(w).Encode(&out)
}

// copy is a State that can be counted on without harm to the first.
func (s *State) copy() *State {
	out := *s
	out.Waypoints = slices.Clone(s.Waypoints)
	out.Classes, out.Judged, out.Found = slices.Clone(s.Classes), slices.Clone(s.Judged), slices.Clone(s.Found)
	out.distinct.kept = maps.Clone(s.distinct.kept)
	return &out
}

// with adds what the corpus knows.
func (s *State) with(c *corpus) *State {
	s.Corpus = s.Corpus[:0]
	first := 0
	if c.added > corpusSize {
		first = c.added % corpusSize
	}
	for i := range c.entries {
		e := &c.entries[(first+i)%len(c.entries)]
		s.Corpus = append(s.Corpus, kept{e.lineage, e.features})
	}
	s.Reached = slices.Clone(c.reached[:])
	return s
}

// count takes note of a run.
func (s *State) count(r *result) {
	s.Runs++
	drawn := len(r.lineage) == 1
	if drawn {
		s.Drawn++
	}
	if r.failed != nil {
		s.Failed++
		s.Failure = r.failed.Error()
		return
	}
	if r.unfinished {
		s.Unfinished++
	}
	s.distinct.add(r.behaviour)
	for i, name := range Waypoints() {
		if r.waypoints>>i&1 != 0 {
			countIn(&s.Waypoints, name, drawn)
		}
	}
	if r.judged != "" && !r.slow {
		countIn(&s.Judged, r.judged, drawn)
	}
	if r.slow {
		s.Slow++
		return
	}
	if r.class != "" && countIn(&s.Classes, r.class, drawn) <= keptPerClass {
		s.Found = append(s.Found, r.found())
	}
}

// countIn counts a run in the class of the name, and returns how many there are now.
func countIn(list *[]Class, name string, drawn bool) uint64 {
	i := slices.IndexFunc(*list, func(c Class) bool { return c.Name == name })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Class{Name: name})
	}
	c := &(*list)[i]
	if drawn {
		c.Drawn++
	}
	c.Runs++
	return c.Runs
}

func (r *result) found() Found {
	return Found{Run: r.run, Lineage: r.lineage, Seed: r.seed, Class: r.class, Property: r.property, Again: r.again}
}

func (s *State) violations() (n uint64) {
	for _, c := range s.Classes {
		n += c.Runs
	}
	return n
}

// Report sums up.
func (s *State) Report() Report {
	r := Report{Runs: s.Runs, Drawn: s.Drawn, Failed: s.Failed, Failure: s.Failure, Unfinished: s.Unfinished, Slow: s.Slow, Waypoints: slices.Clone(s.Waypoints), Behaviours: s.distinct.count(), Estimated: !s.distinct.exact(),
		Classes: slices.Clone(s.Classes), Judged: slices.Clone(s.Judged), Found: slices.Clone(s.Found)}
	slices.SortFunc(r.Classes, func(a, b Class) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name)) })
	slices.SortStableFunc(r.Found, func(a, b Found) int { return strings.Compare(a.Class, b.Class) })
	return r
}
