package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	folder      = "adapters/museum"
	museumFile  = folder + "/museum.json"
	resultsFile = folder + "/results.json"
	pageFile    = "docs/internals/recall.md"
)

// Piece is a fault of a lock library that users reported.
type Piece struct {
	ID       string `json:"id"`
	Library  string `json:"library"`
	Language string `json:"language"`
	// Fault is what went wrong, in a sentence, Source the report.
	Fault  string `json:"fault"`
	Source string `json:"source"`
	// Broken and Mended are versions.
	Broken string `json:"broken"`
	Mended string `json:"mended"`
	// Missing is why it is not on trial.
	Missing string `json:"missing,omitempty"`
	// Installer is pip, npm, go or maven, Package what it is to install, With what it needs beside, as its name and version.
	Installer string   `json:"installer,omitempty"`
	Package   string   `json:"package,omitempty"`
	With      []string `json:"with,omitempty"`
	// Python is the version of Python that the package needs, where it does not run on that of today.
	Python string `json:"python,omitempty"`
	// Program is the file of its lock program, from the folder of the museum, the folder in adapters/ of one in Go, or the class of one in
	// Java, from adapters/java, and Args its arguments;
	// MendedArgs are those of the mended version, where users have to ask for the mend.
	Program    string   `json:"program,omitempty"`
	Args       []string `json:"args,omitempty"`
	MendedArgs []string `json:"mended_args,omitempty"`
	// BrokenAudit is why the broken version is not audited, if it is not: only sim conform is then to show the fault. The mended one is
	// audited.
	BrokenAudit string `json:"broken_audit,omitempty"`
	// Tests are tests of Go with its library: their names, by the way of testing.
	Tests map[string]string `json:"tests,omitempty"`
	// Shows are accusations that are of this fault: how each of them begins.
	Shows []string `json:"shows,omitempty"`
}

// Version is what a version of a piece is accused of.
type Version struct {
	// Sim is the version of sim that says so, Library what the lock program says of its own.
	Sim     string `json:"sim"`
	Library string `json:"library"`
	// Accused are conform/CHECK, audit/GUARANTEE/CASE and search/PROPERTY.
	Accused []string `json:"accused"`
	// Searched: there was a search.
	Searched bool `json:"searched,omitempty"`
	// Undecided are cells of the card that are unknown.
	Undecided []string `json:"undecided,omitempty"`
	// Seconds is the processor time of all that, 0: it was not measured.
	Seconds float64 `json:"seconds,omitempty"`
	// Beside is what other ways to test a lock came to in as much.
	Beside map[string]*Loop `json:"beside,omitempty"`
}

// results are what was measured, by piece, and then broken, mended or first.
type results map[string]map[string]*Version

func readMuseum(root string) (list []Piece, err error) {
	text, err := os.ReadFile(filepath.Join(root, museumFile))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", museumFile, err)
	}
	seen := make(map[string]bool)
	for i := range list {
		p := &list[i]
		switch {
		case p.ID == "" || seen[p.ID]:
			return nil, fmt.Errorf("%s: the ID %q is empty, or there twice", museumFile, p.ID)
		case p.Library == "" || p.Language == "" || p.Fault == "" || p.Source == "" || p.Broken == "":
			return nil, fmt.Errorf("%s: %s lacks something", museumFile, p.ID)
		case (p.Missing == "") != (p.Program != "" && p.Package != "" && p.Mended != "" && len(p.Shows) > 0):
			return nil, fmt.Errorf("%s: %s says how it is tried, and what shows the fault, or why it is not tried", museumFile, p.ID)
		}
		seen[p.ID] = true
	}
	return list, nil
}

func readResults(root string) (r results, err error) {
	text, err := os.ReadFile(filepath.Join(root, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return make(results), nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return r, nil
}

func (r results) write(root string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, resultsFile), append(text, '\n'), 0o644)
}

// shown are the accusations of a version that are of the fault.
func (p *Piece) shown(v *Version) (list []string) {
	if v == nil {
		return nil
	}
	for _, a := range v.Accused {
		if slices.ContainsFunc(p.Shows, func(begins string) bool { return a == begins || strings.HasPrefix(a, begins+"/") }) {
			list = append(list, a)
		}
	}
	return list
}
