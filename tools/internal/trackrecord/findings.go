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
// written by hand. No other field is allowed.
//
// docs/findings/<id>.yaml is published. Of a finding that is not reported yet it has the ID, the library and in which
// guarantees something was found; all else stands in unreported/<id>.yaml until it is reported.
type Finding struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Library and Version are what was looked at.
	Library string `yaml:"library"`
	Version string `yaml:"version"`
	// Where the record shows it.
	Where []place `yaml:"where"`
	// Shows is the command line that shows it, Rate how often it did.
	Shows string `yaml:"shows"`
	Rate  string `yaml:"rate"`
	// Reported is the address at which its maintainers can read it, or somebody told it to them, and the day: "https://..., 2026-11-30";
	// or NotYet.
	Reported string   `yaml:"reported"`
	Source   []source `yaml:"source"`
	// Report is a text that can be sent to the library's authors, <id>.md beside the file. Scenario is one that shows it:
	// scenarios/<id>.yaml there, or one that sim ships. Both are paths below the repository.
	Report   string `yaml:"report"`
	Scenario string `yaml:"scenario"`
}

// NotYet is what Finding.Reported says as long as the maintainers have not heard of it.
const NotYet = "not yet"

// place is where a finding shows: in cells of a lock's card, or as properties that its search found violated. If it is not reported
// yet, the published file has the guarantees alone.
type place struct {
	Lock       string             `yaml:"lock"`
	Guarantees []string           `yaml:"guarantees"`
	Cases      []string           `yaml:"cases"`
	Properties []checker.Property `yaml:"properties"`
}

// source is a place in the library's source. Lines is a function, or lines as in "75-120".
type source struct {
	File  string `yaml:"file"`
	Lines string `yaml:"lines"`
	Does  string `yaml:"does"`
}

// ReadFindings reads the findings that are published, of the repository, in the order of their IDs.
func ReadFindings(root string, all []Library) ([]Finding, error) {
	return readFolder(root, FindingsDir, all)
}

// readUnreported reads those that are not reported yet, as they are to be sent; none if the folder is elsewhere.
func readUnreported(root string, all []Library) ([]Finding, error) {
	return readFolder(root, UnreportedDir, all)
}

func readFolder(root, dir string, all []Library) (list []Finding, err error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		f, err := readFinding(file)
		if err == nil {
			err = f.check(strings.TrimSuffix(filepath.Base(file), ".yaml"), root, dir, all)
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

// check says what is wrong with a finding of a folder.
func (f *Finding) check(id, root, dir string, all []Library) error {
	switch {
	case f.ID != id:
		return fmt.Errorf("id %q: want the file's name, %q", f.ID, id)
	case f.Reported == "":
		return fmt.Errorf("reported is missing: want an address and a day, or %q", NotYet)
	case !f.NotYet() && !address.MatchString(f.Reported):
		return fmt.Errorf("reported %q: want an address that begins with https, a comma and a day (2026-11-30), or %q", f.Reported, NotYet)
	case !f.NotYet() && dir == UnreportedDir:
		return fmt.Errorf("it is reported: it belongs into %s", FindingsDir)
	}
	for i := range f.Where {
		if err := f.Where[i].check(all, f.NotYet()); err != nil {
			return err
		}
	}
	if f.NotYet() && dir == FindingsDir {
		return f.checkWithheld()
	}
	return f.checkWhole(root, dir)
}

var address = regexp.MustCompile(`^https://[^\s,]+, 20\d\d-[01]\d-[0-3]\d$`)

// NotYet reports that the maintainers have not heard of it from us.
func (f *Finding) NotYet() bool { return f.Reported == NotYet }

// Address is where it is reported, ReportedOn the day.
func (f *Finding) Address() string    { at, _, _ := strings.Cut(f.Reported, ", "); return at }
func (f *Finding) ReportedOn() string { _, day, _ := strings.Cut(f.Reported, ", "); return day }

// checkWithheld sees that what is published of a finding tells nobody how to show it.
func (f *Finding) checkWithheld() error {
	if f.Library == "" || f.Version == "" || len(f.Where) == 0 {
		return errors.New("want library, version and where")
	}
	for _, p := range f.Where {
		if len(p.Cases)+len(p.Properties) > 0 {
			return fmt.Errorf("it is not reported yet: want the guarantees of %s alone, no cases and no properties", p.Lock)
		}
	}
	for field, given := range map[string]bool{"title": f.Title != "", "shows": f.Shows != "", "rate": f.Rate != "",
		"source": len(f.Source) > 0, "report": f.Report != "", "scenario": f.Scenario != ""} {
		if given {
			return fmt.Errorf("it is not reported yet: %s belongs into %s/%s.yaml", field, UnreportedDir, f.ID)
		}
	}
	return nil
}

// checkWhole sees that nothing is missing that a report needs.
func (f *Finding) checkWhole(root, dir string) error {
	needed := map[string]string{"title": f.Title, "library": f.Library, "version": f.Version, "shows": f.Shows, "rate": f.Rate}
	for field, value := range needed {
		if strings.TrimSpace(value) == "" {
			return fmt.Errorf("%s is missing", field)
		}
	}
	reports := path.Join(dir, f.ID+".md")
	switch {
	case f.Report != reports:
		return fmt.Errorf("report %q: want %s", f.Report, reports)
	case f.Scenario != path.Join(dir, "scenarios", f.ID+".yaml") && !shipped.MatchString(f.Scenario):
		return fmt.Errorf("scenario %q: want %s/scenarios/%s.yaml, or one of scenarios/", f.Scenario, dir, f.ID)
	case len(f.Source) == 0:
		return errors.New("source is missing: who has not looked there knows no reason")
	}
	for _, s := range f.Source {
		if s.File == "" || s.Lines == "" || s.Does == "" {
			return fmt.Errorf("source %+v: want file, lines and does", s)
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

func (p *place) check(all []Library, notYet bool) error {
	switch {
	case !named(all, p.Lock):
		return fmt.Errorf("where: lock %q is none of %s", p.Lock, LibrariesFile)
	case !notYet && len(p.Guarantees) > 0:
		return fmt.Errorf("where: %s: it is reported, so cases say in which guarantee", p.Lock)
	case !notYet && len(p.Cases)+len(p.Properties) == 0:
		return fmt.Errorf("where: %s: want cases or properties", p.Lock)
	}
	for _, g := range p.Guarantees {
		if !slices.Contains(scenario.Guarantees(), scenario.Guarantee(g)) {
			return fmt.Errorf("where: there is no guarantee %q", g)
		}
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

// Heading names a finding: by its title, or by what may be said of it.
func (f *Finding) Heading() string {
	if !f.NotYet() {
		return f.Title
	}
	in := "no guarantee is broken"
	if list := f.Guarantees(); len(list) > 0 {
		in = "in " + strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s: something was found in %s %s (%s)", f.ID, f.Library, f.Version, in)
}

// Guarantees are those in which something was found.
func (f *Finding) Guarantees() (list []string) {
	for _, p := range f.Where {
		list = append(list, p.guarantees()...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *place) guarantees() []string {
	list := slices.Clone(p.Guarantees)
	for _, c := range p.Cases {
		guarantee, _, _ := strings.Cut(c, "/")
		list = append(list, guarantee)
	}
	if len(list) == 0 { // a search alone saw it
		for _, q := range p.Properties {
			list = append(list, string(scenario.Home(q)))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// in reports that something was found in a guarantee of a lock.
func (f *Finding) in(lock, guarantee string) bool {
	return slices.ContainsFunc(f.Where, func(p place) bool { return p.Lock == lock && slices.Contains(p.guarantees(), guarantee) })
}

// explains reports that a finding is about a cell of a lock's card.
func (f *Finding) explains(lock string, c *card.Cell) bool {
	return slices.ContainsFunc(f.Where, func(p place) bool { return p.Lock == lock && slices.Contains(p.Cases, c.ID) })
}

// explainsFound reports that a finding is about a property that a lock's search found violated.
func (f *Finding) explainsFound(lock string, property checker.Property) bool {
	return slices.ContainsFunc(f.Where, func(p place) bool { return p.Lock == lock && slices.Contains(p.Properties, property) })
}

// About reports that a finding is about a guarantee.
func (f *Finding) About(guarantee string) bool { return slices.Contains(f.Guarantees(), guarantee) }
