package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/tools/internal/trackrecord"
)

// repositoryFolder leads from this package to the repository.
const repositoryFolder = "../.."

// built is the site, made once for all tests.
var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "redlock-sim-site-test-")
	if err != nil {
		return "", err
	}
	playground := filepath.Join(folder, "..", filepath.Base(folder)+".html") // the true one takes long to compile, and has tests of its own
	if err := os.WriteFile(playground, []byte("<!doctype html><title>p</title><p>played"), 0o600); err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(playground) }()
	return folder, build(context.Background(), repositoryFolder, folder, playground)
})

func TestMain(m *testing.M) {
	code := tab.Tests(m).Run()
	if folder, _ := built(); folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

func theSite(t *testing.T) string {
	t.Helper()
	folder, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// parsed is what a page has: where it leads, what it loads, and its anchors.
type parsed struct {
	leads, loads []string
	anchors      map[string]bool
}

func parse(t *testing.T, file string) parsed {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tree, err := html.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	p := parsed{anchors: map[string]bool{"": true, "top": true}}
	for n := range tree.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id" || a.Key == "name" && n.Data == "a":
				p.anchors[a.Val] = true
			case a.Key == "href" && n.Data == "a", a.Key == "action":
				p.leads = append(p.leads, a.Val)
			case a.Key == "src" || a.Key == "href" && n.Data == "link" || a.Key == "srcset" || a.Key == "data":
				p.loads = append(p.loads, a.Val)
			}
		}
	}
	return p
}

// Every link leads to a page that is there, and to a heading that it has; and no page loads anything from elsewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := theSite(t)
	pages := map[string]parsed{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".html") {
			name, _ := filepath.Rel(root, file)
			pages[filepath.ToSlash(name)] = parse(t, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 200 {
		t.Errorf("%d pages: want more", len(pages))
	}
	for name, p := range pages {
		reports := strings.HasSuffix(name, "-report.html")
		for _, to := range append(p.leads, p.loads...) {
			u, err := url.Parse(to)
			switch {
			case err != nil:
				t.Errorf("%s: %q: %v", name, to, err)
			case u.Scheme == "https" && slices.Contains(p.leads, to) || u.Scheme == "data":
				continue
			case u.Scheme == "http" && u.Host == "antirez.com": // it has no other address
				continue
			case u.Scheme != "" || u.Host != "":
				t.Errorf("%s: %q is elsewhere", name, to)
				continue
			}
			if reports && u.Path != "" {
				continue // a report tells of files beside a run
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if to, isPage := pages[target]; isPage {
				if !to.anchors[u.Fragment] && target != "playground.html" { // what is behind its # is an experiment
					t.Errorf("%s: %s has no #%s", name, target, u.Fragment)
				}
			} else if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: there is no %s", name, target)
			}
		}
	}
}

// leadsOf is where the links and pictures of a file of Markdown lead.
func leadsOf(t *testing.T, file string) (list []string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_ = ast.Walk(converter.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				list = append(list, string(n.Destination))
			}
		case *ast.Image:
			if entering {
				list = append(list, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return list
}

// Each page is there as Markdown, in which every link leads to a file that is there, and to a heading that it has; llms.txt lists them all.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	root := theSite(t)
	listed := leadsOf(t, filepath.Join(root, "llms.txt"))
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".html") {
			return err
		}
		name, err := filepath.Rel(root, file)
		if name == "search.html" || name == "playground.html" || name == "track-record.html" || strings.HasSuffix(name, "-report.html") {
			return err
		}
		markdown := strings.TrimSuffix(filepath.ToSlash(name), ".html") + ".md"
		if !slices.Contains(listed, markdown) {
			t.Errorf("llms.txt has no %s", markdown)
		}
		if !slices.Contains(parse(t, file).leads, path.Base(markdown)) {
			t.Errorf("%s does not lead to its Markdown", name)
		}
		for _, to := range leadsOf(t, filepath.Join(root, markdown)) {
			u, err := url.Parse(to)
			if err != nil || u.Scheme != "" {
				if err != nil || u.Scheme == "file" {
					t.Errorf("%s: %q: %v", markdown, to, err)
				}
				continue
			}
			target := markdown
			if u.Path != "" {
				target = path.Join(path.Dir(markdown), u.Path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: there is no %s", markdown, target)
			} else if page, ok := strings.CutSuffix(target, ".md"); ok && !parse(t, filepath.Join(root, page+".html")).anchors[u.Fragment] {
				t.Errorf("%s: %s has no #%s", markdown, target, u.Fragment)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) < 200 || len(listed) != len(slices.Compact(slices.Sorted(slices.Values(listed)))) {
		t.Errorf("llms.txt lists %d pages, or one twice", len(listed))
	}
	page, err := os.ReadFile(filepath.Join(root, "scenarios/gc-pause.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# ", "| linearizable-resource | violated |", "one update is lost", "name: gc-pause"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the Markdown of gc-pause has no %q", part)
		}
	}
}

// Every guarantee and every scenario has its page, with a picture for each variant.
func TestPagesOfAll(t *testing.T) {
	t.Parallel()
	root := theSite(t)
	for _, g := range scenario.Guarantees() {
		if g == scenario.NoGuarantee {
			continue
		}
		p := parse(t, filepath.Join(root, "guide", string(g)+".html"))
		if !slices.ContainsFunc(p.loads, func(src string) bool { return strings.HasPrefix(src, "../pictures/") }) {
			t.Errorf("the page of %s has no picture", g)
		}
	}
	list, err := scenario.LoadAll(scenario.All)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		p := parse(t, filepath.Join(root, "scenarios", s.Name+".html"))
		page, err := os.ReadFile(filepath.Join(root, "scenarios", s.Name+".html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Variants {
			if strings.Contains(string(page), "<b>"+v.Name+"</b> is not applicable here: ") {
				continue
			}
			if want := fmt.Sprintf("../pictures/%s-%s.svg", s.Name, v.Name); !slices.Contains(p.loads, want) {
				t.Errorf("the page of %s has no %s", s.Name, want)
			}
		}
	}
}

// The list of the docs leads to each of their pages.
func TestListOfDocs(t *testing.T) {
	t.Parallel()
	root := theSite(t)
	list := parse(t, filepath.Join(root, "docs", "index.html"))
	for _, folder := range []string{"guide", "reference", "internals"} {
		files, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if want := "../" + folder + "/" + f.Name(); strings.HasSuffix(want, ".html") && !slices.Contains(list.leads, want) {
				t.Errorf("docs/README.md does not lead to %s", want)
			}
		}
	}
}

// Each page in Chinese says so, and leads to its original, which leads back.
func TestTranslations(t *testing.T) {
	t.Parallel()
	root := theSite(t)
	translated := 0
	err := filepath.WalkDir(filepath.Join(root, "zh"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".html" { // as Markdown it has no such words
			return err
		}
		translated++
		name, _ := filepath.Rel(root, file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "\n<html lang=\"zh\">\n") {
			t.Errorf("%s does not say that it is in Chinese", name)
		}
		_, after, _ := strings.Cut(string(text), `<a rel="alternate" hreflang="en" href="`)
		to, _, _ := strings.Cut(after, `"`)
		original := filepath.Join(filepath.Dir(file), filepath.FromSlash(to))
		back, err := filepath.Rel(filepath.Dir(original), file)
		if err != nil {
			return err
		}
		if !slices.Contains(parse(t, original).leads, filepath.ToSlash(back)) {
			t.Errorf("%s is a translation of %s, which does not lead to it", name, to)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if translated < 40 {
		t.Errorf("%d pages in Chinese: want more", translated)
	}
}

// The site says of a finding that is not reported yet that there is one, and where. It has no report of it, and no page that tells how to
// show it.
func TestNothingTooSoon(t *testing.T) {
	t.Parallel()
	root := theSite(t)
	record, err := readRecord(repositoryFolder)
	if err != nil {
		t.Fatal(err)
	}
	shown := parse(t, filepath.Join(root, "track-record.html"))
	for _, f := range record.Withheld {
		if !shown.anchors[f.ID] {
			t.Errorf("track-record.html has nothing of %s", f.ID)
		}
		if _, err := os.Stat(filepath.Join(root, "findings", f.ID+".html")); err == nil {
			t.Errorf("there is a page about %s", f.ID)
		}
	}
	reports, err := filepath.Glob(filepath.Join(repositoryFolder, trackrecord.UnreportedDir, "*-[0-9].md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) == 0 {
		suite.Lacks(t, "the reports that are not sent yet ("+trackrecord.UnreportedDir+"/), which are kept in a private place")
	}
	commands := map[string]string{}
	for _, report := range reports {
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		_, command, _ := strings.Cut(string(text), "\nsim run ")
		command, _, _ = strings.Cut(command, "\n")
		if title == "" || command == "" {
			t.Fatalf("%s has no title, or no command", report)
		}
		commands[title], commands["sim run "+command] = report, report
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		page := html.UnescapeString(string(text))
		for part, report := range commands {
			if strings.Contains(page, part) {
				t.Errorf("%s has %q of %s", file, part, report)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A folder that has something else in it is left as it is.
func TestForeignFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := build(t.Context(), repositoryFolder, dir, ""); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("a foreign folder: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// The site can be read at three widths, by day and by night; the search finds, and without scripts its page lists all.
func TestInTheBrowser(t *testing.T) {
	t.Parallel()
	root := "file://" + theSite(t)
	b := tab.New(t)
	for _, name := range []string{"index.html", "guide/paused-holder.html",
		"guide/debate.html", "guide/choosing.html", "guide/choosing-a-library.html",
		"findings/index.html", "scenarios/gc-pause.html", "scenarios/index.html",
		"docs/index.html", "reference/scenario.html", "search.html",
		"zh/index.html", "zh/guide/paused-holder.html", "zh/guide/choosing.html"} {
		b.Readable(name, func() { b.Do(chromedp.Navigate(root + "/" + name)) })
	}
	b.Do(chromedp.Navigate(root + "/search.html?q=TWO+primaries"))
	hits := tab.Eval[[]string](b, `[...document.querySelectorAll("#hits a")].map((a) => a.getAttribute("href"))`)
	if !slices.Contains(hits, "scenarios/sentinel-min-replicas.html") || len(hits) > 50 {
		t.Errorf("two primaries: found %v", hits)
	}
	if said := tab.Eval[string](b, `document.getElementById("said").textContent`); !strings.HasSuffix(said, " pages") {
		t.Errorf("the search said %q", said)
	}
	b.Do(chromedp.Navigate(root + "/search.html?q=%3Cimg+src=x%3E"))
	if n := tab.Eval[int](b, `document.querySelectorAll("main img").length`); n != 0 {
		t.Error("what was searched for became part of the page")
	}
	// The field at the top finds while somebody types, from any page, and the keyboard leads to what it found.
	b.Do(chromedp.Navigate(root+"/guide/paused-holder.html"), chromedp.SendKeys(chromedp.CSS("header .find input"), "two primaries"),
		chromedp.WaitVisible(chromedp.CSS(".hits a")), chromedp.KeyEvent(kb.ArrowDown))
	if got := tab.Eval[string](b, `document.activeElement.href`); !strings.HasPrefix(got, root+"/") || !strings.HasSuffix(got, ".html") {
		t.Errorf("the arrow leads to %q", got)
	}
	b.Size(390, 900)
	if got := tab.Eval[int](b, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("what the search found makes the page %d px wide on a phone", got)
	}
	// A long page begins with its contents, and each way to fail has a picture. A title says what fails, the line below it what should not.
	b.Do(chromedp.Navigate(root + "/reference/scenario.html"))
	if n := tab.Eval[int](b, `document.querySelectorAll("nav.contents a").length`); n < 4 {
		t.Errorf("the contents of a long page have %d entries", n)
	}
	b.Do(chromedp.Navigate(root + "/index.html"))
	if n := tab.Eval[int](b, `[...document.querySelectorAll(".ways li")]
		.filter((li) => !li.querySelector("img") || !li.textContent.includes("guarantee that fails")).length`); n > 3 {
		t.Errorf("%d ways have no picture, or do not say which guarantee fails", n)
	}
	b.Do(chromedp.Navigate(root + "/guide/paused-holder.html"))
	b.Do(chromedp.Click(chromedp.CSS("a.play")))
	frames := func(text string) {
		t.Helper()
		got := tab.Eval[string](b, `(async () => { const f = document.querySelector("iframe"); if (!f) return "none";
			await new Promise((r) => { f.addEventListener("load", r); setTimeout(r, 5000); }); return f.src.replace(/.*\//, ""); })()`)
		if !strings.HasPrefix(got, text) {
			t.Errorf("the frame is %q, want %q", got, text)
		}
	}
	frames("playground.html#seed=42&variant=unfenced&yaml=")
	b.Do(chromedp.Click(chromedp.CSS("a.play")))
	frames("none")
	b.Quiet(root)
	b.WithoutScripts()
	b.Do(chromedp.Navigate(root + "/search.html"))
	if list := parse(t, filepath.Join(strings.TrimPrefix(root, "file://"), "search.html")).leads; len(list) < 150 {
		t.Errorf("without scripts the search has %d links", len(list))
	}
	b.Do(chromedp.Navigate(root + "/guide/paused-holder.html"))
	b.Do(chromedp.WaitVisible("figure.run img"))
}
