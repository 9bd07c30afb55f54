package app

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// searchState keeps a search's state in a file, so that it can be continued.
type searchState struct {
	path string
	// of identifies the search.
	of             string
	began, written time.Time
	// before is how long had been searched before it began.
	before int64
}

// stateEvery is how often the state is written while a search goes on.
const stateEvery = 5 * time.Second

// newSearchState names the state of a search in the folder of what it finds.
func newSearchState(s explore.Search, r request.Search) *searchState {
	identity := fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n%+v\n%v\n%d",
		r.World, r.Nodes, r.Lock, s.Scenario.Text, s.Variant, s.Drawing, s.Properties, s.First)
	name := fmt.Sprintf("%.40s-%s.search.json", s.Scenario.Name, s.Variant)
	return &searchState{path: filepath.Join(r.Out, name),
		of: fmt.Sprintf("%x", sha256.Sum256([]byte(identity))), began: time.Now(), written: time.Now()}
}

// load reads the state of the search that is to be continued.
func (f *searchState) load() (*explore.State, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Usagef("there is no search to continue: %s is missing", f.path).
			Hint("leave out --resume to start a new search")
	}
	if err != nil {
		return nil, fmt.Errorf("failed to open the state of the search: %w", err)
	}
	defer func() { _ = file.Close() }()
	s, err := explore.ReadState(file)
	if err != nil {
		return nil, Usagef("%s: %v", f.path, err).Hint("leave out --resume to start a new search")
	}
	if s.Of != f.of {
		return nil, Usagef("%s belongs to another search: the scenario, --lock, --variant, "+
			"--world, --nodes, --kinds, --property, --seed or how schedules are drawn was different", f.path).
			Hint("leave out --resume to start a new search")
	}
	f.before = s.TookMS
	return s, nil
}

// save writes the state now and then, and when the search is over.
func (f *searchState) save(s *explore.State, last bool) error {
	if !last && time.Since(f.written) < stateEvery {
		return nil
	}
	f.written = time.Now()
	s.Of, s.TookMS = f.of, f.before+time.Since(f.began).Milliseconds()
	return machine.WriteFile(f.path, s.Write)
}
