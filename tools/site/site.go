package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	reportpage "github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/tools/internal/trackrecord"
)

//go:embed assets
var assets embed.FS

// site is what all pages are made of.
type site struct {
	// root is the repository, out the folder of the site.
	root, out string
	tmpl      *template.Template
	scenarios []*shown
	record    *trackrecord.Record
	// ways are the pages of guarantees, each made once.
	ways  map[scenario.Guarantee]*way
	pages []*page
	// play: there is a playground.
	play bool
}

// page is one page of the site.
type page struct {
	// File is where it is below the site, with slashes, as all paths of the site.
	File, Title string
	// Kind says what the page is, in a word for those who search.
	Kind string
	// Lead is what it is about, in a sentence or two.
	Lead string
	// Source is the file of the repository that it is made from; empty: it is made from more than one.
	Source string
	Body   template.HTML
	// Text is the page as Markdown without its heading, links as in the file From of the repository; empty: it has none.
	Text, From string
	site       *site
}

// Up leads from the page to the site's folder.
func (p *page) Up() string { return up(p.File) }

func up(file string) string { return strings.Repeat("../", strings.Count(file, "/")) }

// Play: there is a playground.
func (p *page) Play() bool { return p.site.play }

// Here marks the entry of the menu that the page belongs to.
func (p *page) Here(entry string) bool { return p.Kind == entry }

// chineseIndex is the page that lists those in Chinese.
const chineseIndex = "zh/index.html"

// Lang is the language of the page.
func (p *page) Lang() string {
	if _, translated := docs.Original(p.Source); translated {
		return "zh"
	}
	return "en"
}

// Other is the same page in the other language. A page without a translation leads to the list of those that have one.
func (p *page) Other() string {
	if original, translated := docs.Original(p.Source); translated {
		return p.site.pageOf(original)
	}
	translation := docs.Translation(p.Source)
	if _, err := os.Stat(filepath.Join(p.site.root, filepath.FromSlash(translation))); p.Source != "" && err == nil {
		return p.site.pageOf(translation)
	}
	return chineseIndex
}

// marker is a file that only sites have, so that no other folder is ever removed.
const marker = ".redlock-sim-site"

func build(ctx context.Context, root, out, play string) error {
	s := &site{root: root, out: out, play: play != "", ways: make(map[scenario.Guarantee]*way)}
	if err := s.clear(); err != nil {
		return err
	}
	var err error
	if s.tmpl, err = template.New("").Funcs(template.FuncMap{"markdown": s.inline}).ParseFS(assets, "assets/*.tmpl"); err != nil {
		return err
	}
	if s.record, err = readRecord(root); err != nil {
		return err
	}
	if err := s.runAll(ctx); err != nil {
		return err
	}
	playground := func() error { return s.copyPlayground(play) }
	steps := []func() error{s.guide, s.scenarioPages, s.docs, s.translations, s.searchPage, playground, s.recordPage, s.home, s.write,
		s.writeMarkdown, s.assets}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d pages\n", filepath.Join(out, "index.html"), len(s.pages))
	return nil
}

func readRecord(root string) (*trackrecord.Record, error) {
	libraries, err := trackrecord.ReadLibraries(filepath.Join(root, trackrecord.LibrariesFile))
	if err != nil {
		return nil, err
	}
	findings, err := trackrecord.ReadFindings(root, libraries)
	if err != nil {
		return nil, err
	}
	return trackrecord.ReadRecord(root, libraries, findings)
}

// clear removes an earlier site.
func (s *site) clear() error {
	left, err := os.ReadDir(s.out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case len(left) > 0:
		if _, err := os.Stat(filepath.Join(s.out, marker)); err != nil {
			return fmt.Errorf("%s has something else in it: not removed", s.out)
		}
		if err := os.RemoveAll(s.out); err != nil {
			return err
		}
	}
	return s.file(marker, func(io.Writer) error { return nil })
}

// file writes a file of the site.
func (s *site) file(name string, write func(io.Writer) error) error {
	return machine.WriteFile(filepath.Join(s.out, filepath.FromSlash(name)), write)
}

// add makes a page from a template.
func (s *site) add(p *page, tmpl string, data any) error {
	var b strings.Builder
	if err := s.tmpl.ExecuteTemplate(&b, tmpl, data); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	p.Body, p.site = template.HTML(b.String()), s // a template made it
	s.pages = append(s.pages, p)
	return nil
}

// write writes the pages.
func (s *site) write() error {
	for _, p := range s.pages {
		if err := s.file(p.File, func(w io.Writer) error { return s.tmpl.ExecuteTemplate(w, "page.tmpl", p) }); err != nil {
			return fmt.Errorf("%s: %w", p.File, err)
		}
	}
	return nil
}

// assets writes what the pages share.
func (s *site) assets() error {
	err := s.file("site.css", func(w io.Writer) error {
		own, err := assets.ReadFile("assets/site.css")
		_, failed := io.WriteString(w, reportpage.Stylesheet()+string(own))
		return errors.Join(err, failed)
	})
	script := s.file("site.js", func(w io.Writer) error {
		own, err := assets.ReadFile("assets/site.js")
		_, failed := w.Write(own)
		return errors.Join(err, failed)
	})
	index := s.file("index.js", func(w io.Writer) error {
		text, err := json.Marshal(s.index())
		_, failed := fmt.Fprintf(w, "window.pages = %s;\n", text)
		return errors.Join(err, failed)
	})
	images, failed := filepath.Glob(filepath.Join(s.root, "docs", "images", "*.*"))
	err = errors.Join(err, script, index, failed)
	for _, from := range images {
		err = errors.Join(err, s.copyFile(from, "images/"+filepath.Base(from)))
	}
	return err
}

// recordPage is the track record, a page in its own style.
func (s *site) recordPage() error {
	return s.file("track-record.html", func(w io.Writer) error { return trackrecord.WriteHTML(w, s.record, s.pageOf) })
}

func (s *site) copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return s.file(to, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}

// copyPlayground puts the page of the playground into the site.
func (s *site) copyPlayground(from string) error {
	if from == "" {
		return nil
	}
	return s.copyFile(from, "playground.html")
}

// home is the first page.
func (s *site) home() error {
	data := struct {
		Safety, Liveness []*way
		Scenarios        int
		Play             bool
	}{Scenarios: len(s.scenarios), Play: s.play}
	for _, g := range scenario.Guarantees() {
		w := s.way(g)
		switch {
		case w == nil:
		case w.liveness():
			data.Liveness = append(data.Liveness, w)
		default:
			data.Safety = append(data.Safety, w)
		}
	}
	p := &page{File: "index.html", Title: "How Redis locks fail, and what to do about it",
		Kind: "home", Lead: "A field guide: each way in which a Redis lock fails, shown by an experiment."}
	p.Text, p.From = homeText(data.Safety, data.Liveness), "README.md"
	return s.add(p, "home.tmpl", data)
}

// entry is a page as the search knows it.
type entry struct {
	File  string `json:"f"`
	Title string `json:"t"`
	Kind  string `json:"k"`
	Lead  string `json:"l,omitempty"`
	Text  string `json:"x"`
}

// maxSearched is how much of a page's text is searched, in bytes.
const maxSearched = 6000

func (s *site) index() (list []entry) {
	for _, p := range s.pages {
		if p.File == searchFile {
			continue
		}
		text := plainText(string(p.Body))
		if len(text) > maxSearched {
			text = strings.ToValidUTF8(text[:maxSearched], "")
		}
		list = append(list, entry{p.File, p.Title, p.Kind, p.Lead, text})
	}
	return list
}

const searchFile = "search.html"

// searchPage lists all pages: without a script it is the index of the site.
func (s *site) searchPage() error {
	list := slices.Clone(s.pages)
	slices.SortStableFunc(list, func(a, b *page) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Title, b.Title))
	})
	return s.add(&page{File: searchFile, Title: "Search", Kind: "search"}, "search.tmpl", list)
}

// link leads from one page to another.
func link(from, to string) string {
	rel, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}
