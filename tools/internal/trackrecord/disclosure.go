package trackrecord

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// hearFirst stands in the place of why a cell is broken.
const hearFirst = "The maintainers of the library hear of it first."

// withheld reports that a cell of a lock's card is broken, and that no finding which is reported says why.
func withheld(lock string, c *card.Cell, findings []Finding) bool {
	return c.State == card.Broken && !slices.ContainsFunc(findings, func(f Finding) bool { return !f.NotYet() && f.explains(lock, c) })
}

// pointing is the part of a cell's sentence that says what else is violated in its runs, and to which cell that belongs.
var pointing = regexp.MustCompile(`( ?\(But |It cannot be judged, because )[a-z-]+ is violated .*: see (\S+)\.\)?$`)

// seenThere stands in the place of what was seen in a cell that is unknown, in a row in which another one is withheld.
const seenThere = "Something was seen here that the nodes do not confirm. " + hearFirst

// sayingTooMuch are the cells of a lock's card that say, or show, what no reported finding says, each with what it may say: those that are
// withheld, those whose runs show the same, and those in which a violation was seen in the row of one that is withheld.
func sayingTooMuch(lock string, l *card.Lock, findings []Finding) map[*card.Cell]string {
	secret, rows := make(map[string]bool), make(map[string]bool)
	list := make(map[*card.Cell]string)
	for _, cells := range [][]card.Cell{l.Cells, l.Conform} {
		for i := range cells {
			if c := &cells[i]; withheld(lock, c, findings) {
				rows[c.Guarantee()] = true
				if secret[c.ID] = true; tells(c) {
					list[c] = hearFirst
				}
			}
		}
	}
	for i := range l.Cells {
		c := &l.Cells[i]
		if at := pointing.FindStringSubmatchIndex(c.Why); at != nil && secret[c.Why[at[4]:at[5]]] && !secret[c.ID] {
			list[c] = strings.TrimSpace(c.Why[:at[0]] + " Something else is violated here. " + hearFirst)
		}
		if c.State == card.Unknown && rows[c.Guarantee()] && strings.HasPrefix(c.Why, "Look here: ") {
			list[c] = seenThere
		}
	}
	return list
}

// withhold takes out of a cell all that says how it came to be broken, or how to show it. why is left of its sentence.
func withhold(c *card.Cell, why string) {
	c.Why = why
	for _, told := range []*string{&c.Variant, &c.Assumption, &c.Replay, &c.Report, &c.Scenario} {
		*told = ""
	}
}

// tells reports that a cell says more than a withheld one may.
func tells(c *card.Cell) bool {
	return c.Why != hearFirst || c.Variant+c.Assumption+c.Replay+c.Report+c.Scenario != ""
}

// withholdKept takes out of what is kept of a library how to show what nobody has reported.
func withholdKept(root, name string, findings []Finding) error {
	s, err := readStored(root, name)
	if err != nil {
		return err
	}
	err = s.withholdCard(root, name, findings)
	for i := range s.Searches {
		err = errors.Join(err, s.Searches[i].withhold(root, name, findings))
	}
	return err
}

func (s *stored) withholdCard(root, name string, findings []Finding) error {
	if s.Card == nil {
		return nil
	}
	l, changed := &s.Card.Locks[0], false
	for c, why := range sayingTooMuch(name, l, findings) {
		withhold(c, why)
		changed = true
	}
	if l.Misbehaves != "" && len(l.Conform) > 0 { // it says the same
		l.Misbehaves, changed = "", true
	}
	if !changed {
		return nil
	}
	return machine.WriteFile(cardFile(root, name), func(w io.Writer) error { return card.WriteJSON(w, s.Card) })
}

// unexplained are the classes that a search found, and of which no reported finding says why.
func (s *searched) unexplained(lock string, findings []Finding) (list []class) {
	for _, one := range s.Report.Classes {
		c := s.classOf(one)
		if !slices.ContainsFunc(findings, func(f Finding) bool { return !f.NotYet() && f.explainsFound(lock, c.Property) }) {
			list = append(list, c)
		}
	}
	return list
}

// withhold says of such classes in which guarantee they are, and puts the whole beside what the search found.
func (k *storedSearch) withhold(root, name string, findings []Finding) error {
	if k.Searched == nil {
		return nil
	}
	list := k.Searched.unexplained(name, findings)
	if len(list) == 0 {
		return nil
	}
	if err := k.Searched.write(filepath.Join(foundDir(root, name, k.topology), "search.json")); err != nil {
		return err
	}
	kept := k.Searched
	for _, c := range list {
		kept.Withheld = append(kept.Withheld, withheldClass{k.Searched.home(c), c.Proved})
		kept.Properties = slices.DeleteFunc(kept.Properties, func(p checker.Property) bool { return slices.Contains(c.Properties(), p) })
		kept.Report.Classes = slices.DeleteFunc(kept.Report.Classes, func(other explore.Class) bool { return other.Name == c.Name })
		kept.Report.Found = slices.DeleteFunc(kept.Report.Found, func(f explore.Found) bool { return f.Class == c.Name })
	}
	return kept.write(searchFile(root, name, k.topology))
}

// CheckDisclosure says what keeps a repository from being made public, or released: what is not reported yet, with how to show it.
func CheckDisclosure(root string) (problems []string, err error) {
	all, err := ReadLibraries(filepath.Join(root, LibrariesFile))
	if err != nil {
		return nil, err
	}
	findings, err := ReadFindings(root, all)
	if err != nil {
		return []string{err.Error()}, nil //nolint:nilerr // a finding that says too much is what is looked for
	}
	s := &disclosure{root: root, libraries: all, findings: findings}
	if _, err := os.Stat(filepath.Join(root, UnreportedDir)); err == nil {
		s.add(UnreportedDir, "move it and its history to a private place")
	}
	return s.problems, errors.Join(s.readReports(), s.kept(), s.files())
}

// disclosure looks for what is not reported yet.
type disclosure struct {
	root      string
	libraries []Library
	findings  []Finding
	record    *Record
	// lines are those of the reports that are not sent yet.
	lines    map[string]bool
	problems []string
}

func (s *disclosure) add(file, what string) {
	s.problems = append(s.problems, filepath.ToSlash(file)+": "+what)
}

// longEnough is how long a line of a report is by which it is known again, in bytes.
const longEnough = 60

// readReports takes the lines that only one report has. Nothing is known of reports that are elsewhere.
func (s *disclosure) readReports() error {
	times := map[string]int{}
	repository := os.DirFS(s.root)
	err := fs.WalkDir(repository, UnreportedDir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(repository, file)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); len(line) >= longEnough && !strings.HasPrefix(line, "Library: ") {
				times[line]++
			}
		}
		return err
	})
	s.lines = map[string]bool{}
	for line, n := range times {
		s.lines[line] = n == 1
	}
	return err
}

// kept looks at the cards and the searches that are kept.
func (s *disclosure) kept() error {
	var err error
	if s.record, err = ReadRecord(s.root, s.libraries, s.findings); err != nil {
		return err
	}
	for i := range s.record.Locks {
		l := &s.record.Locks[i]
		var ids []string
		for c := range sayingTooMuch(l.Name, l.On, s.findings) {
			ids = append(ids, c.ID)
		}
		for _, id := range slices.Sorted(slices.Values(ids)) {
			s.add(cardFile("", l.Name), id+" is not reported yet, or shows what is not: make track-record-pages takes out why it is broken")
		}
		for _, made := range l.Searches {
			for _, c := range made.unexplained(l.Name, s.findings) {
				s.add(searchFile("", l.Name, made.Topology),
					fmt.Sprintf("%q is not reported yet: make track-record-pages takes out how it was found", c.Name))
			}
		}
	}
	return nil
}

// found are the folders where scenarios stand that somebody found with a library.
var found = regexp.MustCompile(`^(docs/findings/|docs/track-record/|locktest/testdata/libraries/testdata/).*\.(yaml|md)$`)

// files looks at all files of the repository, but for those that git ignores.
func (s *disclosure) files() error {
	repository, passed := os.DirFS(s.root), []string{"bin", "reports", "node_modules", UnreportedDir}
	return fs.WalkDir(repository, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(passed, file)) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if found.MatchString(file) && !s.isPublic(file) {
			s.add(file, "it belongs to no finding that is reported")
		}
		text, err := fs.ReadFile(repository, file)
		if err != nil || bytes.IndexByte(text, 0) >= 0 || strings.HasPrefix(file, recordDir+"/") {
			return err
		}
		s.text(file, string(text))
		return nil
	})
}

// isPublic reports that a file of these folders is of the policy, or of a finding.
func (s *disclosure) isPublic(file string) bool {
	if file == FindingsDir+"/README.md" || file == recordDir+"/README.md" {
		return true
	}
	return slices.ContainsFunc(s.findings, func(f Finding) bool {
		return file == FindingsDir+"/"+f.ID+".yaml" || !f.NotYet() && (file == f.Report || file == f.Scenario)
	})
}

// runs is a command line that shows something of a lock.
var runs = regexp.MustCompile(`sim (?:run|replay) [^\n]*adapters/[^\n]*`)

// text looks at a file for lines of reports, and for command lines that show what is not reported yet.
func (s *disclosure) text(file, text string) {
	for line := range strings.Lines(text) {
		if s.lines[strings.TrimSpace(line)] {
			s.add(file, "it has a line of a report that is not sent yet: "+strings.TrimSpace(line))
		}
	}
	for _, command := range runs.FindAllString(text, -1) {
		if slices.ContainsFunc(s.findings, func(f Finding) bool { return !f.NotYet() && strings.Contains(command, f.Shows) }) {
			continue
		}
		for _, l := range s.libraries {
			guarantee := guaranteeOf(command)
			if strings.Contains(command, programOf(l.Command)) && s.isWithheld(l.Name, guarantee) {
				s.add(file, fmt.Sprintf("it shows %s of %s, which is not reported yet: %s", guarantee, l.Name, command))
				break
			}
		}
	}
}

func (s *disclosure) isWithheld(lock, guarantee string) bool {
	return s.record.isOpen(lock, guarantee) ||
		slices.ContainsFunc(s.findings, func(f Finding) bool { return f.NotYet() && f.in(lock, guarantee) })
}

// programOf is what starts a lock program, without its flags: other settings of a library may show the same.
func programOf(command string) string {
	words := strings.Fields(command)
	for i, word := range words {
		if strings.HasPrefix(word, "-") {
			words = words[:i]
			break
		}
	}
	return strings.Join(words, " ")
}

// guaranteeOf is the guarantee of the first shipped scenario that a command line names.
func guaranteeOf(command string) string {
	list, err := shellquote.Split(command)
	if err != nil {
		list = strings.Fields(command)
	}
	for _, word := range list[2:] {
		name := strings.TrimSuffix(filepath.Base(word), ".yaml")
		if loaded, err := scenario.LoadAll(name); err == nil && len(loaded) == 1 {
			return string(loaded[0].Guarantee)
		}
	}
	return ""
}
