package explore

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

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
	// Part is what came of the runs.
	Part
	// TookMS is how long has been searched.
	TookMS int64 `json:"took_ms,omitempty"`
	// Commands are those of Real.
	Commands []string `json:"commands,omitempty"`
	// Corpus are the schedules that are changed further, the oldest first;
	// Reached counts the runs that reached each feature.
	Corpus  []kept   `json:"corpus"`
	Reached []uint32 `json:"reached"`
}

// kept is an entry of the corpus.
type kept struct {
	Lineage  Lineage  `json:"lineage"`
	Features []uint16 `json:"features"`
}

const (
	stateFormat  = "redlock-sim-search"
	stateVersion = 4
)

func newState(first uint64) *State {
	return &State{Format: stateFormat, Version: stateVersion, Part: Part{First: first}}
}

// ReadState reads what Write wrote.
func ReadState(r io.Reader) (*State, error) {
	s := &State{}
	if err := json.NewDecoder(r).Decode(s); err != nil {
		return nil, fmt.Errorf("failed to read the state of a search: %w", err)
	}
	if s.Format != stateFormat || s.Version != stateVersion {
		return nil, fmt.Errorf("not the state of a search, version %d: format %q, version %d", stateVersion, s.Format, s.Version)
	}
	if slices.ContainsFunc(s.Corpus, func(k kept) bool { return len(k.Lineage) == 0 }) {
		return nil, fmt.Errorf("the state of the search is damaged: a schedule without an origin")
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("the state of the search: %w", err)
	}
	return s, nil
}

// Write writes the state as JSON.
func (s *State) Write(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

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
