package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"slices"

	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// KnownSeed is a line of a table of seeds: epochs of a soak that violated something.
type KnownSeed struct {
	Version int `json:"soak"`
	// Of names what lived, and With what makes its epochs the same.
	Of   string `json:"of"`
	With string `json:"with"`
	// Epoch is the epoch of the seed, which needs Epochs epochs, with itself.
	Seed   uint64 `json:"seed"`
	Epoch  uint64 `json:"epoch"`
	Epochs uint64 `json:"epochs"`
	// What it violated.
	What string `json:"what"`
	// Sim and Lock are the versions that showed it last, Gone that of sim that did not show it any more; empty: it shows.
	Sim  string `json:"sim"`
	Lock string `json:"lock,omitempty"`
	Gone string `json:"gone,omitempty"`
	// State is what became of it in this soak.
	State SeedState `json:"-"`
}

// SeedState is what became of a seed.
type SeedState string

// What becomes of a seed: it is new, it was seen before and shows again, it shows no more, or it belongs to another soak.
const (
	SeedNew   SeedState = "new"
	SeedSeen  SeedState = "seen before"
	SeedGone  SeedState = "gone"
	SeedOther SeedState = "of another soak"
)

const (
	// seedsVersion is that of a line of a table.
	seedsVersion = 1
	// mostSeeds and mostSeedsBytes bound a table.
	mostSeeds, mostSeedsBytes = 1000, 1 << 20
	// mostSeedEpochs bounds what a line may ask for.
	mostSeedEpochs = 100_000
)

// seedTable is a table of seeds; nil: there is none.
type seedTable struct {
	path string
	list []KnownSeed
}

// readSeeds reads a table, which somebody else may have written. A file that is not there is an empty one.
func readSeeds(path string) (*seedTable, error) {
	if path == "" {
		return nil, nil
	}
	t := &seedTable{path: path}
	text, err := machine.ReadRegular(path, mostSeedsBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read the table of seeds: %w", err)
	}
	if len(text) > mostSeedsBytes {
		return nil, Usagef("--seeds %s: it has more than %d bytes", path, mostSeedsBytes)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, mostSeedsBytes)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var one KnownSeed
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			return nil, Usagef("--seeds %s: line %d: %v", path, n, err)
		}
		if why := one.wrong(); why != "" {
			return nil, Usagef("--seeds %s: line %d: %s", path, n, why)
		}
		if t.list = append(t.list, one); len(t.list) > mostSeeds {
			return nil, Usagef("--seeds %s: more than %d seeds", path, mostSeeds)
		}
	}
	return t, nil
}

// wrong says what is wrong with a line; empty: nothing.
func (k *KnownSeed) wrong() string {
	switch {
	case k.Version != seedsVersion:
		return fmt.Sprintf("a seed of version %d: this program knows version %d", k.Version, seedsVersion)
	case k.Epochs == 0 || k.Epochs > mostSeedEpochs || k.Epochs > k.Epoch+1:
		return fmt.Sprintf("epoch %d cannot need %d epochs", k.Epoch, k.Epochs)
	case k.What == "":
		return "it does not say what was violated"
	}
	return ""
}

// askKnown lets the epochs of the table's seeds come first, and says what became of each.
func (s *soaking) askKnown(ctx context.Context) error {
	if s.known == nil {
		return nil
	}
	for i := range s.known.list {
		k := &s.known.list[i]
		if k.With != soakIdentity(s, k.Seed) {
			k.State = SeedOther
			continue
		}
		shown := false
		again := s.soak
		again.First = k.Seed
		again.Told = func(e *explore.Epoch) error {
			shown = shown || e.Number == k.Epoch && shows(e, k.What)
			return nil
		}
		s.listener.tell(Phase{fmt.Sprintf("seed %d, epoch %d: again?", k.Seed, k.Epoch)})
		if err := again.Run(ctx, k.Epoch+1-k.Epochs, k.Epochs); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if k.State, k.Gone = SeedGone, s.Version; shown {
			k.State, k.Gone, k.Sim, k.Lock = SeedSeen, "", s.Version, s.lockVersion()
		}
		s.listener.tell(Phase{})
		s.listener.tell(SoakKnown{k})
		s.soaked.Known = append(s.soaked.Known, *k)
	}
	return nil
}

// lockVersion is the version of the lock program; empty: it is none, or does not say.
func (s *soaking) lockVersion() string {
	if ready := s.out.Of.Ready; ready != nil {
		return ready.Version
	}
	return ""
}

// keepSeeds adds what was found to the table.
func (s *soaking) keepSeeds() error {
	if s.known == nil {
		return nil
	}
	for _, f := range s.soaked.Found {
		k := KnownSeed{Version: seedsVersion, Of: s.soaked.Lock, With: soakIdentity(s, s.soaked.Request.Seed), Seed: s.soaked.Request.Seed,
			Epoch: f.Epoch, Epochs: f.Epochs, What: f.What, Sim: s.Version, Lock: s.lockVersion(), State: SeedNew}
		if k.Of == "" {
			k.Of = s.soaked.Scenario
		}
		same := func(o KnownSeed) bool {
			return o.With == k.With && o.Seed == k.Seed && o.Epoch == k.Epoch && o.What == k.What
		}
		if !f.Confirmed || slices.ContainsFunc(s.known.list, same) || len(s.known.list) >= mostSeeds {
			continue
		}
		s.known.list = append(s.known.list, k)
		s.soaked.Gained = append(s.soaked.Gained, k)
		s.listener.tell(SoakKnown{&k})
	}
	return machine.WriteFile(s.known.path, func(w io.Writer) error {
		for i := range s.known.list {
			line, err := json.Marshal(&s.known.list[i])
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}
