package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/scenarios"
)

// All stands for every shipped scenario.
const All = "all"

// extensions are those of scenario files.
var extensions = []string{".yaml", ".yml"}

// IsFile reports that a file is one of a scenario, by its name.
func IsFile(path string) bool { return slices.Contains(extensions, filepath.Ext(path)) }

// LoadAll reads the scenarios that the arguments name: files, folders with all that is in
// them and below, and shipped scenarios by their names. A file wins over a shipped scenario, but
// not over the word all; ./ before a name means what is in this folder.
// What is wrong with any of them comes back together; the problems in them as Problems.
func LoadAll(args ...string) ([]*Scenario, error) {
	sources, err := find(args)
	var problems yamlform.Problems
	errs := []error{err}
	var list []*Scenario
	for _, src := range sources {
		s, err := src.load()
		var ps yamlform.Problems
		switch {
		case errors.As(err, &ps):
			problems = append(problems, ps...)
		case err != nil:
			errs = append(errs, err)
		default:
			list = append(list, s)
		}
	}
	if len(problems) > 0 {
		errs = append(errs, fmt.Errorf("%s in %s:\n%w", words.Count(len(problems), "problem"), whereAre(problems), problems))
	}
	return list, errors.Join(errs...)
}

// Shipped lists the names of the shipped scenarios.
func Shipped() []string { return slices.Sorted(maps.Keys(shipped())) }

// shipped are the files of the shipped scenarios, by their names.
var shipped = sync.OnceValue(func() map[string]string {
	files := make(map[string]string)
	err := fs.WalkDir(scenarios.Files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[strings.TrimSuffix(path.Base(file), ".yaml")] = file
		}
		return err
	})
	if err != nil {
		panic(err) // they are part of the program
	}
	return files
})

// source is where a scenario comes from: a file, or the name of a shipped one.
type source struct {
	name    string
	shipped bool
}

func (src source) load() (*Scenario, error) {
	if !src.shipped {
		return Load(src.name)
	}
	text, err := scenarios.Files.ReadFile(shipped()[src.name])
	if err != nil {
		return nil, err
	}
	s, err := Parse(src.name, text)
	if s != nil {
		s.Shipped = true
	}
	return s, err
}

func find(args []string) ([]source, error) {
	var list []source
	var errs []error
	for _, arg := range args {
		found, err := findOne(arg)
		list = append(list, found...)
		errs = append(errs, err)
	}
	return dedupe(list), errors.Join(errs...)
}

func findOne(arg string) ([]source, error) {
	if arg == All {
		return allShipped(), nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir() && shipped()[arg] != "": // such as a folder with its reports
		return []source{{arg, true}}, nil
	case err == nil && info.IsDir():
		return findIn(arg)
	case err == nil:
		return []source{{name: arg}}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("failed to find the scenario: %w", err)
	}
	if filepath.Base(arg) == arg && filepath.Ext(arg) == "" {
		for _, ext := range extensions {
			if _, err := os.Stat(arg + ext); err == nil {
				return []source{{name: arg + ext}}, nil
			}
		}
	}
	if shipped()[arg] != "" {
		return []source{{arg, true}}, nil
	}
	return nil, notFound(arg)
}

func allShipped() (list []source) {
	for _, name := range Shipped() {
		list = append(list, source{name, true})
	}
	return list
}

func findIn(folder string) ([]source, error) {
	var list []source
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !IsFile(path) {
			return nil
		}
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%q is no file", path)
		}
		list = append(list, source{name: path})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failed to look for scenarios: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenarios (*.yaml) in %q", folder)
	}
	slices.SortFunc(list, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

// notFound says what was probably meant: a scenario's file beside it, or a shipped scenario.
func notFound(arg string) error {
	folder, name := filepath.Dir(arg), filepath.Base(arg)
	noFile, nothing := fmt.Errorf("no file or folder %q", arg), fmt.Errorf("no file, folder or shipped scenario %q", arg)
	own := bare(name)
	if shipped()[own] != "" {
		return words.WithHint(noFile, fmt.Sprintf("sim run %s runs the scenario of this name that sim ships", own))
	}
	near := yamlform.Nearest(own, append(Shipped(), All))
	if own == arg && near != "" { // the name of no file
		return words.WithHint(nothing, fmt.Sprintf("did you mean %s?", near))
	}
	beside := scenariosBeside(folder)
	if guess := yamlform.Nearest(own, slices.Sorted(maps.Keys(beside))); guess != "" {
		return words.WithHint(noFile, fmt.Sprintf("did you mean %s?", filepath.Join(folder, beside[guess])))
	}
	if near != "" {
		return words.WithHint(nothing, fmt.Sprintf("did you mean %s?", near))
	}
	return words.WithHint(nothing, "sim list lists the scenarios")
}

// bare is a file's name without the extension of a scenario's file.
func bare(name string) string {
	if IsFile(name) {
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name
}

// mostBeside bounds how many files are looked at for the one that was meant.
const mostBeside = 1000

// looksLikeScenario: a text that has these may be a scenario, maybe one with mistakes; one that has not is none.
var looksLikeScenario = regexp.MustCompile(`(?m)^(lock|workload|variants):`)

// scenariosBeside are the files of a folder itself that look like scenarios, by their names without the extension.
func scenariosBeside(folder string) map[string]string {
	found := make(map[string]string)
	f, err := os.Open(folder)
	if err != nil {
		return found
	}
	defer f.Close()
	entries, _ := f.ReadDir(mostBeside)
	for _, e := range entries {
		if !e.Type().IsRegular() || !IsFile(e.Name()) {
			continue
		}
		text, err := machine.ReadRegular(filepath.Join(folder, e.Name()), yamlform.MaxSize+1)
		if err == nil && looksLikeScenario.Match(text) {
			found[bare(e.Name())] = e.Name()
		}
	}
	return found
}

func dedupe(list []source) []source {
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(s source) bool {
		key := s.name
		if !s.shipped {
			if abs, err := filepath.Abs(s.name); err == nil {
				key = abs
			}
		}
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// whereAre says in how many scenarios problems are.
func whereAre(ps yamlform.Problems) string {
	files := namesOf(ps, func(p *yamlform.Problem) string { return p.File })
	if n := len(slices.Compact(files)); n > 1 {
		return fmt.Sprintf("%d scenarios", n)
	}
	return "the scenario"
}
