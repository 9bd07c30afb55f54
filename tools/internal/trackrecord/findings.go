package trackrecord

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Finding is what somebody found out, in the source of a library, about what a card or a search shows. It is
// written by hand: docs/findings/<id>.yaml. No other field is allowed.
type Finding struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Library and Version are what was looked at.
	Library string `yaml:"library"`
	Version string `yaml:"version"`
	// Where the record shows it; none: neither a card nor a search does.
	Where []place `yaml:"where"`
	// Shows is the command line that shows it, Rate how often it did.
	Shows string `yaml:"shows"`
	Rate  string `yaml:"rate"`
	// Upstream are addresses of issues and changes of the library; none: we have not reported it.
	Upstream []string `yaml:"upstream"`
	Source   []source `yaml:"source"`
	// Report is a text that can be sent to the library's authors: docs/findings/<id>.md.
	Report string `yaml:"report"`
	// Scenario is one that shows it: docs/findings/scenarios/<id>.yaml, or one that sim ships. Both are paths below the
	// repository.
	Scenario string `yaml:"scenario"`
}

// place is where a finding shows: in cells of a lock's card, or as properties that its search found violated.
type place struct {
	Lock       string             `yaml:"lock"`
	Cases      []string           `yaml:"cases"`
	Properties []checker.Property `yaml:"properties"`
}

// source is a place in the library's source. Lines is a function, or lines as in "75-120".
type source struct {
	File  string `yaml:"file"`
	Lines string `yaml:"lines"`
	Does  string `yaml:"does"`
}

// ReadFindings reads all findings of a folder, in the order of their IDs.
func ReadFindings(dir string, all []Library) (list []Finding, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "..", "..")
	for _, file := range files {
		f, err := readFinding(file)
		if err == nil {
			err = f.check(strings.TrimSuffix(filepath.Base(file), ".yaml"), root, all)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.ToSlash(file), err)
		}
		list = append(list, *f)
	}
	return list, nil
}

func readFinding(file string) (*Finding, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &Finding{}
	return f, yaml.Load(text, f, yaml.WithKnownFields())
}

// check says what is wrong with a finding.
func (f *Finding) check(id, root string, all []Library) error {
	needed := map[string]string{"title": f.Title, "library": f.Library, "version": f.Version, "shows": f.Shows, "rate": f.Rate}
	for field, value := range needed {
		if strings.TrimSpace(value) == "" {
			return fmt.Errorf("%s is missing", field)
		}
	}
	reports := path.Join(FindingsDir, id+".md")
	switch {
	case f.ID != id:
		return fmt.Errorf("id %q: want the file's name, %q", f.ID, id)
	case f.Report != reports:
		return fmt.Errorf("report %q: want %s", f.Report, reports)
	case f.Scenario != path.Join(FindingsDir, "scenarios", id+".yaml") && !shipped.MatchString(f.Scenario):
		return fmt.Errorf("scenario %q: want %s/scenarios/%s.yaml, or one of scenarios/", f.Scenario, FindingsDir, id)
	case len(f.Source) == 0:
		return errors.New("source is missing: who has not looked there knows no reason")
	}
	for _, s := range f.Source {
		if s.File == "" || s.Lines == "" || s.Does == "" {
			return fmt.Errorf("source %+v: want file, lines and does", s)
		}
	}
	for _, u := range f.Upstream {
		if !strings.HasPrefix(u, "https://") {
			return fmt.Errorf("upstream %q: want an address that begins with https", u)
		}
	}
	for _, p := range f.Where {
		if err := p.check(all); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(root, f.Report)); err != nil {
		return err
	}
	_, err := scenario.Load(filepath.Join(root, f.Scenario))
	return err
}

var (
	shipped = regexp.MustCompile(`^scenarios/[a-z0-9-]+\.yaml$`)
	caseID  = regexp.MustCompile(`^[a-z-]+/[a-z0-9-]+$`)
)

func (p *place) check(all []Library) error {
	switch {
	case !named(all, p.Lock):
		return fmt.Errorf("where: lock %q is none of %s", p.Lock, LibrariesFile)
	case len(p.Cases)+len(p.Properties) == 0:
		return fmt.Errorf("where: %s: want cases or properties", p.Lock)
	}
	for _, c := range p.Cases {
		if !caseID.MatchString(c) {
			return fmt.Errorf("where: case %q: want guarantee/case", c)
		}
	}
	for _, q := range p.Properties {
		if !slices.Contains(checker.Properties(), q) {
			return fmt.Errorf("where: there is no property %q", q)
		}
	}
	return nil
}

// explains reports that a finding is about a cell of a lock's card.
func (f *Finding) explains(lock string, c *card.Cell) bool {
	return slices.ContainsFunc(f.Where, func(p place) bool { return p.Lock == lock && slices.Contains(p.Cases, c.ID) })
}

// explainsFound reports that a finding is about a property that a lock's search found violated.
func (f *Finding) explainsFound(lock string, property checker.Property) bool {
	return slices.ContainsFunc(f.Where, func(p place) bool { return p.Lock == lock && slices.Contains(p.Properties, property) })
}

// About reports that a finding is about cases of a guarantee.
func (f *Finding) About(guarantee string) bool {
	return slices.ContainsFunc(f.Where, func(p place) bool {
		return slices.ContainsFunc(p.Cases, func(c string) bool { return strings.HasPrefix(c, guarantee+"/") })
	})
}
