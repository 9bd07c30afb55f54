package trackrecord

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Promises are what the documentation of some programs' library says, written by hand: an entry of adapters/claims.yaml. No other
// field is allowed.
type Promises struct {
	Locks []string `yaml:"locks"`
	// Version is that of the documentation.
	Version string `yaml:"version"`
	// None is why there is nothing to quote.
	None   string  `yaml:"none"`
	Claims []Claim `yaml:"claims"`
}

// Claim is a quotation from a library's documentation.
type Claim struct {
	Says string `yaml:"says"`
	// At is where it stands. Copy is a copy of that on this machine, if there is one: below the repository, absolute, or below mod/, the
	// cache of modules of Go.
	At   string `yaml:"at"`
	Copy string `yaml:"copy"`
	// Guarantees are what it promises, GivesUp what it says that it does not promise.
	Guarantees []string `yaml:"guarantees"`
	GivesUp    []string `yaml:"gives_up"`
	// On is where the lock is kept that it speaks of, as a card says it: "several nodes". Empty: wherever it is.
	On string `yaml:"on"`
	// Needs is what has to be switched on for it that the program does not switch on.
	Needs string `yaml:"needs"`
}

// Agreement is whether what was seen agrees with what was promised.
type Agreement string

// The agreements.
const (
	Agrees      Agreement = "agrees"
	Contradicts Agreement = "contradicts"
	Undecided   Agreement = "undecided"
	NotTried    Agreement = "not tried"
)

// ReadPromises reads what libraries promise: each of them, once. Without the file there are none.
func ReadPromises(root string, all []Library) (list []Promises, err error) {
	err = readIf(filepath.Join(root, ClaimsFile), func(r io.Reader) error {
		text, err := io.ReadAll(r)
		if err == nil {
			err = yaml.Load(text, &list, yaml.WithKnownFields())
		}
		return errors.Join(err, checkPromises(list, all))
	})
	return list, err
}

func checkPromises(list []Promises, all []Library) error {
	var of []string
	for i := range list {
		p := &list[i]
		for _, name := range p.Locks {
			if !named(all, name) || slices.Contains(of, name) {
				return fmt.Errorf("%q is none of %s, or is there twice", name, LibrariesFile)
			}
			of = append(of, name)
		}
		switch {
		case len(p.Locks) == 0:
			return errors.New("an entry has no locks")
		case (p.None == "") == (len(p.Claims) == 0):
			return fmt.Errorf("%s: want claims, or why there are none", p.Locks[0])
		case len(p.Claims) > 0 && p.Version == "":
			return fmt.Errorf("%s: version is missing", p.Locks[0])
		}
		for j := range p.Claims {
			if err := p.Claims[j].check(); err != nil {
				return fmt.Errorf("%s: %q: %w", p.Locks[0], p.Claims[j].Says, err)
			}
		}
	}
	for _, l := range all {
		if !slices.Contains(of, l.Name) {
			return fmt.Errorf("nothing is said of %s", l.Name)
		}
	}
	return nil
}

// longest is how much of a page may be quoted, in bytes.
const longest = 240

func (c *Claim) check() error {
	switch {
	case c.Says == "" || len(c.Says) > longest:
		return fmt.Errorf("want a quotation of at most %d bytes", longest)
	case !strings.HasPrefix(c.At, "https://"):
		return fmt.Errorf("at %q: want an address that begins with https", c.At)
	case len(c.Guarantees) > 0 && len(c.GivesUp) > 0:
		return errors.New("want guarantees or gives_up, not both")
	case c.Needs != "" && len(c.Guarantees) == 0:
		return errors.New("needs is of guarantees")
	}
	for _, g := range slices.Concat(c.Guarantees, c.GivesUp) {
		if !slices.Contains(scenario.Guarantees(), scenario.Guarantee(g)) || g == string(scenario.NoGuarantee) {
			return fmt.Errorf("there is no guarantee %q", g)
		}
	}
	return nil
}

// agreement compares a claim with the row of a card.
func (c *Claim) agreement(state card.State) Agreement {
	kept := state == card.Kept
	switch {
	case c.Needs != "", state == card.NotApplicable:
		return NotTried
	case state == card.Unknown:
		return Undecided
	case kept == (len(c.GivesUp) == 0):
		return Agrees
	default:
		return Contradicts
	}
}

// Promise is a claim beside what was seen of it.
type Promise struct {
	Claim
	Seen []Seen
}

// Seen is what was seen of a guarantee that a claim is about.
type Seen struct {
	Guarantee string
	Agreement Agreement
}

// Words say it in a line.
func (s *Seen) Words() string { return s.Guarantee + ": " + string(s.Agreement) }

// Words say in a line what was seen of all that the claim names.
func (p *Promise) Words() string {
	if len(p.Seen) == 0 {
		return "it names no guarantee"
	}
	var list []string
	for i := range p.Seen {
		list = append(list, p.Seen[i].Words())
	}
	text := strings.Join(list, "; ")
	if len(p.GivesUp) > 0 {
		text += " (a limit that it names)"
	}
	if p.Needs != "" {
		text += " (it needs " + p.Needs + ")"
	}
	return text
}

// row is what the card says of a guarantee where the lock is kept in a way; empty: in all. Where somebody found something that the card
// does not show, it is broken.
func (l *lock) row(guarantee, on string) card.State {
	if on != "" {
		return l.On.RowIn(guarantee, on)
	}
	if slices.Contains(l.found, guarantee) {
		return card.Broken
	}
	if l.tellsNoToken(guarantee) {
		return card.NotApplicable
	}
	return l.On.Row(guarantee)
}

// tellsNoToken reports that the cases of fencing that apply to a lock say nothing of it, because it has no token. Nothing disturbs its
// client there.
func (l *lock) tellsNoToken(guarantee string) bool {
	return guarantee == "fencing" && l.On.Row(guarantee) == card.Kept && slices.ContainsFunc(l.On.Cells, func(c card.Cell) bool {
		return c.Guarantee() == guarantee && c.State == card.NotApplicable && strings.EqualFold(c.Why, scenario.TellsNoToken+".")
	})
}

// Promised are the claims of the lock's library, beside what was seen.
func (l *lock) Promised() (list []Promise) {
	for _, c := range l.Promises.Claims {
		p := Promise{Claim: c}
		for _, g := range slices.Concat(c.Guarantees, c.GivesUp) {
			p.Seen = append(p.Seen, Seen{g, c.agreement(l.row(g, c.On))})
		}
		list = append(list, p)
	}
	return list
}
