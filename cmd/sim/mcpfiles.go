package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

type listIn struct {
	Topic string `json:"topic,omitempty" jsonschema:"what to list; default: scenarios"`
	Match string `json:"match,omitempty" jsonschema:"only items that have this text in name, title, guarantee or tags"`
}

type listOut struct {
	Items []listed `json:"items"`
}

func (m *agents) listTopic(_ context.Context, c *call, in listIn) (out listOut, err error) {
	if in.Topic == "" {
		in.Topic = topics[0].name
	}
	list, err := m.list(in.Topic, nil)
	if err != nil {
		return out, err
	}
	out.Items = slices.DeleteFunc(list, func(l listed) bool { return !l.has(in.Match) })
	return out, m.writingTo(&c.printed).printList(out.Items, false)
}

// has reports that an item has a text in what is said of it.
func (l *listed) has(text string) bool {
	all := strings.Join(append([]string{l.Name, l.Title, l.Promise}, l.Tags...), "\n")
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}

// named is a scenario that an agent names or gives.
type named struct {
	Scenario string `json:"scenario,omitempty" jsonschema:"the name of a scenario (see list) or a file below the folder of sim mcp"`
	YAML     string `json:"yaml,omitempty" jsonschema:"the text of a scenario, in the place of a name"`
}

// file is what names the scenario for a request. A text is kept below the folder of the runs, so that whatever comes of it can be
// repeated; empty: there is none.
func (m *agents) file(in named) (string, error) {
	switch {
	case in.Scenario != "" && in.YAML != "":
		return "", app.Usagef("give scenario or yaml, not both")
	case in.YAML != "":
		return m.keep(in.YAML)
	case in.Scenario == scenario.All:
		return "", app.Usagef("name one scenario").Hint("list has them")
	case in.Scenario == "":
		return "", nil
	}
	here, err := os.OpenRoot(".")
	if err != nil {
		return "", err
	}
	defer func() { _ = here.Close() }()
	for _, ending := range []string{"", ".yaml", ".yml"} { // as names are completed
		if err := inside(here, in.Scenario+ending); err != nil {
			return "", err
		}
	}
	return in.Scenario, nil
}

// keep writes a text where the scenarios are kept that agents gave, each once.
func (m *agents) keep(text string) (string, error) {
	s, err := parseGiven(text)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	file := filepath.Join("mcp", fmt.Sprintf("%s-%x.yaml", s.Name, sum[:6]))
	if err := os.MkdirAll(m.project.Out, 0o755); err != nil {
		return "", app.Usagef("failed to keep the scenario: %w", err)
	}
	folder, err := os.OpenRoot(m.project.Out)
	if err != nil {
		return "", err
	}
	defer func() { _ = folder.Close() }()
	err = writeNew(folder, file, text)
	if errors.Is(err, fs.ErrExist) {
		kept, readErr := folder.ReadFile(file)
		if err = readErr; err == nil && string(kept) != text {
			err = fmt.Errorf("%s has another text", file)
		}
	}
	if err != nil {
		return "", app.Usagef("failed to keep the scenario: %w", err)
	}
	return filepath.Join(m.project.Out, file), nil
}

// parseGiven reads a scenario that an agent gave as a text.
func parseGiven(text string) (*scenario.Scenario, error) {
	s, err := scenario.Parse("scenario", []byte(text))
	if err != nil {
		return nil, &app.ExitError{Code: app.ExitUsage, Err: err}
	}
	return s, nil
}

type yamlOut struct {
	File string `json:"file" jsonschema:"what run_scenario and search take as scenario"`
	YAML string `json:"yaml"`
}

func (m *agents) showScenario(_ context.Context, c *call, in struct {
	Scenario string `json:"scenario" jsonschema:"the name of a scenario (see list) or a file below the folder of sim mcp"`
},
) (out yamlOut, err error) {
	if in.Scenario == "" {
		return out, app.Usagef("name a scenario").Hint("list has them")
	}
	file, err := m.file(named{Scenario: in.Scenario})
	if err != nil {
		return out, err
	}
	s, err := app.LoadOne(file)
	if err != nil {
		return out, err
	}
	_, _ = c.printed.Write([]byte(s.Text))
	return yamlOut{File: s.File, YAML: s.Text}, nil
}

type checkOut struct {
	Name     string   `json:"name"`
	Title    string   `json:"title,omitempty"`
	Variants []string `json:"variants"`
	// Programs are the lock programs that it names.
	Programs []string `json:"programs,omitempty" jsonschema:"the lock programs that it names; they are started only with --allow-programs"`
	File     string   `json:"file,omitempty" jsonschema:"where it was written"`
}

// toldScenario says what a scenario is.
func toldScenario(s *scenario.Scenario) checkOut {
	out := checkOut{Name: s.Name, Title: s.Title, Programs: app.ProgramsOf(s)}
	for i := range s.Variants {
		out.Variants = append(out.Variants, s.Variants[i].Name)
	}
	return out
}

func (m *agents) checkScenario(_ context.Context, c *call, in struct {
	YAML string `json:"yaml" jsonschema:"the text of the scenario"`
},
) (out checkOut, err error) {
	s, err := parseGiven(in.YAML)
	if err != nil {
		return out, err
	}
	out = toldScenario(s)
	fmt.Fprintf(&c.printed, "%s is a scenario with the variants %s\n", out.Name, strings.Join(out.Variants, ", "))
	return out, nil
}

func (m *agents) writeScenario(_ context.Context, c *call, in struct {
	File string `json:"file" jsonschema:"the new file, below the folder of sim mcp, such as locks/my-case.yaml"`
	YAML string `json:"yaml" jsonschema:"the text of the scenario"`
},
) (out checkOut, err error) {
	switch {
	case !scenario.IsFile(in.File):
		return out, app.Usagef("file %q: want a name that ends with .yaml", in.File)
	case filepath.Base(in.File) == scenario.ProjectFile:
		return out, app.Usagef("%s has the defaults of a folder, and is no scenario", scenario.ProjectFile).Hint("sim init writes it")
	case !filepath.IsLocal(in.File):
		return out, outside(in.File)
	}
	s, err := parseGiven(in.YAML)
	if err != nil {
		return out, err
	}
	here, err := os.OpenRoot(".")
	if err != nil {
		return out, err
	}
	defer func() { _ = here.Close() }()
	switch err := writeNew(here, filepath.FromSlash(in.File), in.YAML); {
	case errors.Is(err, fs.ErrExist):
		return out, app.Usagef("%s exists already", in.File).Hint("choose another name: sim mcp changes no file")
	case err != nil:
		return out, app.Usagef("failed to write the scenario: %w", err)
	}
	out = toldScenario(s)
	out.File = in.File
	fmt.Fprintf(&c.printed, "wrote %s; run_scenario runs it\n", in.File)
	return out, nil
}

type docsIn struct {
	Page string `json:"page,omitempty" jsonschema:"such as guide/your-own-lock.md, or your-own-lock; default: the list of pages"`
	Find string `json:"find,omitempty" jsonschema:"in the place of a page: list the lines that have this text"`
}

type docsOut struct {
	Page  string   `json:"page,omitempty"`
	Pages []string `json:"pages,omitempty" jsonschema:"the pages that there are"`
	Lines []string `json:"lines,omitempty" jsonschema:"the lines found, as page:line: text"`
}

// mostLines bounds the lines that are found in pages.
const mostLines = 60

func (m *agents) readDocs(_ context.Context, c *call, in docsIn) (out docsOut, err error) {
	pages := docs.PageNames()
	switch {
	case in.Page != "" && in.Find != "":
		return out, app.Usagef("give page or find, not both")
	case in.Find != "":
		out.Lines = findLines(pages, in.Find)
		fmt.Fprintln(&c.printed, strings.Join(out.Lines, "\n"))
		return out, nil
	case in.Page == "":
		out.Pages = pages
		in.Page = docs.Index
	}
	at := slices.IndexFunc(pages, func(p string) bool {
		return p == strings.TrimPrefix(in.Page, "docs/") || strings.TrimSuffix(path.Base(p), path.Ext(p)) == in.Page || path.Base(p) == in.Page
	})
	if at < 0 {
		return out, app.Usagef("no page %q", in.Page).Hint("read_docs without a page lists them")
	}
	out.Page = pages[at]
	_, _ = c.printed.Write([]byte(docs.Page(pages[at])))
	return out, nil
}

// findLines are the lines of pages that have a text, whatever its case.
func findLines(pages []string, text string) (found []string) {
	for _, p := range pages {
		number := 0
		for line := range strings.Lines(docs.Page(p)) {
			number++
			if !strings.Contains(strings.ToLower(line), strings.ToLower(text)) {
				continue
			}
			if len(found) == mostLines {
				return append(found, "(more was left out here: look for something rarer)")
			}
			found = append(found, fmt.Sprintf("%s:%d: %s", p, number, strings.TrimSpace(line)))
		}
	}
	return found
}
