package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/tools/internal/trackrecord"
)

// guideFolder has the pages of the guarantees, and all that is for who has a lock.
const guideFolder = "docs/guide"

// way is a way in which locks fail: the page of a guarantee.
type way struct {
	Guarantee scenario.Guarantee
	*document
	File      string
	Scenarios []*shown
	Record    *trackrecord.Row
	Findings  []found
}

// Thumb is a picture of it: of the first variant that violates something; nil: there is none.
func (w *way) Thumb() *variant {
	for _, sc := range w.Scenarios {
		if v := sc.variant(""); v.Picture != "" && v.violates() {
			return v
		}
	}
	return nil
}

// found is a finding about a library that belongs to the guarantee.
type found struct{ Title, File string }

// liveness: it is about getting the lock at all.
func (w *way) liveness() bool {
	return slices.ContainsFunc(w.Guarantee.DecidedBy(), func(p checker.Property) bool {
		return p == checker.DeadlockFree || p == checker.MinorityTolerant || p == checker.ComesBack
	})
}

// way is the page of a guarantee; nil: there is none, for it is no promise of a lock.
func (s *site) way(g scenario.Guarantee) *way {
	if g == scenario.NoGuarantee || g == "" {
		return nil
	}
	if w := s.ways[g]; w != nil {
		return w
	}
	w := &way{Guarantee: g, File: fmt.Sprintf("guide/%s.html", g), Scenarios: s.of(g)}
	doc, err := s.convert(fmt.Sprintf("%s/%s.md", guideFolder, g), w.File)
	if err != nil {
		return nil
	}
	w.document = doc
	if i := slices.IndexFunc(s.record.Rows, func(r trackrecord.Row) bool { return r.Name == string(g) }); i >= 0 {
		w.Record = &s.record.Rows[i]
	}
	for i := range s.record.Findings {
		if f := &s.record.Findings[i]; f.About(string(g)) {
			w.Findings = append(w.Findings, found{f.Title, fmt.Sprintf("findings/%s.html", f.ID)})
		}
	}
	for i := range s.record.Withheld {
		if f := &s.record.Withheld[i]; f.About(string(g)) {
			w.Findings = append(w.Findings, found{f.Heading() + "; its maintainers hear of it first", "track-record.html#" + f.ID})
		}
	}
	s.ways[g] = w
	return w
}

// guide makes the pages of the guarantees, and the others of the folder.
func (s *site) guide() error {
	var written []string
	for _, g := range scenario.Guarantees() {
		if g == scenario.NoGuarantee {
			continue
		}
		w := s.way(g)
		if w == nil {
			return fmt.Errorf("%s/%s.md is missing, or cannot be read", guideFolder, g)
		}
		written = append(written, string(g)+".md")
		p := &page{File: w.File, Title: w.Title, Kind: "guide", Lead: w.Lead, Source: guideFolder + "/" + string(g) + ".md"}
		p.Text, p.From = w.text(), p.Source
		if err := s.add(p, "way.tmpl", w); err != nil {
			return err
		}
	}
	files, err := os.ReadDir(filepath.Join(s.root, filepath.FromSlash(guideFolder)))
	if err != nil {
		return err
	}
	for _, f := range files {
		name, isPage := strings.CutSuffix(f.Name(), ".md")
		if !isPage || slices.Contains(written, f.Name()) {
			continue
		}
		kind := "docs"
		if name == "debate" || name == "choosing" {
			kind = name // it has an entry of its own at the top of each page
		}
		if err := s.document(guideFolder+"/"+f.Name(), "guide/"+name+".html", kind); err != nil {
			return err
		}
	}
	return nil
}

// docs makes a page of each page of the docs. docs/README.md is the list of them.
func (s *site) docs() error {
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md",
		"adapters/README.md", "docs/*.md", "docs/reference/*.md", "docs/internals/*.md", "docs/findings/*.md"} {
		files, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, path := range files {
			file, err := filepath.Rel(s.root, path)
			if err != nil {
				return err
			}
			file = filepath.ToSlash(file)
			kind := "docs"
			if strings.HasPrefix(file, "docs/findings/") {
				kind = "finding"
			}
			if err := s.document(file, s.pageOf(file), kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// translations makes a page of each page in Chinese.
func (s *site) translations() error {
	for _, pattern := range []string{"README.zh.md", "docs/zh/*.md", "docs/zh/*/*.md"} {
		files, err := fs.Glob(os.DirFS(s.root), pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := s.document(file, s.pageOf(file), "中文"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *site) document(file, target, kind string) error {
	d, err := s.convert(file, target)
	if err != nil {
		return err
	}
	return s.add(&page{File: target, Title: d.Title, Kind: kind, Lead: d.Lead, Source: file, Text: d.Text, From: file},
		"document.tmpl", d)
}
