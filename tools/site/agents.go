package main

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// markdownFile is the page as Markdown, below the site; empty: it has none.
func (p *page) markdownFile() string {
	if p.Text == "" {
		return ""
	}
	return strings.TrimSuffix(p.File, ".html") + ".md"
}

// MarkdownLink leads from the page to its Markdown.
func (p *page) MarkdownLink() string {
	if file := p.markdownFile(); file != "" {
		return path.Base(file)
	}
	return ""
}

// writeMarkdown writes each page as Markdown, and llms.txt, which lists them.
func (s *site) writeMarkdown() error {
	texts := make(map[string]string) // the Markdown of pages
	for _, p := range s.pages {
		texts[p.File] = p.markdownFile()
	}
	for _, p := range s.pages {
		if p.Text == "" {
			continue
		}
		text := "# " + p.Title + "\n\n" + strings.TrimLeft(s.relink(p, texts), "\n")
		if err := s.file(p.markdownFile(), func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return err
		}
	}
	return s.file("llms.txt", func(w io.Writer) error { _, err := io.WriteString(w, s.llms()); return err })
}

// linkOrCode is code in a line, or the end of a link: what is in code is no link.
var linkOrCode = regexp.MustCompile("`+[^`]*`+|" + `\]\(([^)\s]+)\)`)

// relink makes the links in the text of a page lead to the Markdown of other pages, where they have one.
func (s *site) relink(p *page, texts map[string]string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(p.Text) {
		mark := strings.TrimLeft(line, " ")
		if n := len(mark) - len(strings.TrimLeft(mark, "`")); n >= 3 {
			switch ticks := mark[:n]; {
			case fence == "":
				fence = ticks
			case strings.HasPrefix(ticks, fence):
				fence = ""
			}
			b.WriteString(line)
			continue
		}
		if fence == "" {
			line = linkOrCode.ReplaceAllStringFunc(line, func(found string) string {
				to, isLink := strings.CutPrefix(found, "](")
				if !isLink {
					return found
				}
				return "](" + s.toMarkdown(strings.TrimSuffix(to, ")"), p, texts) + ")"
			})
		}
		b.WriteString(line)
	}
	return b.String()
}

// toMarkdown is where a link of a page leads from its Markdown.
func (s *site) toMarkdown(to string, p *page, texts map[string]string) string {
	to = s.destination(to, p.From, p.File)
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Path == "" {
		return to
	}
	if text := texts[path.Join(path.Dir(p.File), u.Path)]; text != "" {
		u.Path = link(p.File, text)
	}
	return u.String()
}

// sections are those of llms.txt: which pages are in each.
var sections = []struct {
	title string
	has   func(p *page) bool
}{
	{"Start", func(p *page) bool {
		return p.File == "index.html" || p.File == "docs/index.html" || p.File == "docs/readme.html"
	}},
	{"Guide: for who has a lock", func(p *page) bool { return strings.HasPrefix(p.File, "guide/") && p.Kind != "guide" }},
	{"Guide: the ways in which locks fail", func(p *page) bool { return p.Kind == "guide" }},
	{"Reference", func(p *page) bool { return strings.HasPrefix(p.File, "reference/") }},
	{"Experiments: the scenarios that sim ships", func(p *page) bool { return strings.HasPrefix(p.File, "scenarios/") }},
	{"Libraries", func(p *page) bool {
		return p.Kind == "finding" || p.File == "docs/adapters.html" || p.File == "docs/track-record.html"
	}},
	{"Optional", func(*page) bool { return true }},
}

// llms lists the pages as Markdown, in the form of https://llmstxt.org.
func (s *site) llms() string {
	var b strings.Builder
	b.WriteString("# redlock-sim\n\n> `sim` puts Redis locks on trial under pauses, network faults and clock jumps, " +
		"in virtual time and among real servers, " +
		"and shows where safety breaks, with and without fencing tokens.\n\nEach page is also there as HTML, under the same name with .html. " +
		"How a coding agent uses sim: guide/agents.md.\n")
	left := slices.DeleteFunc(slices.Clone(s.pages), func(p *page) bool { return p.Text == "" })
	for _, section := range sections {
		var lines []string
		left = slices.DeleteFunc(left, func(p *page) bool {
			if !section.has(p) {
				return false
			}
			line := fmt.Sprintf("- [%s](%s)", p.Title, p.markdownFile())
			if p.Lead != "" {
				line += ": " + firstSentence(p.Lead)
			}
			lines = append(lines, line)
			return true
		})
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", section.title, strings.Join(lines, "\n"))
		}
	}
	return b.String()
}

func firstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// homeText is the first page as Markdown.
func homeText(safety, liveness []*way) string {
	var b strings.Builder
	b.WriteString("A lock in Redis is easy to take, and easy to get wrong. This guide shows each way in which such a lock fails, " +
		"by [an experiment](scenarios/README.md), and says what to do about it.\n")
	for _, group := range []struct {
		title string
		ways  []*way
	}{{"Two clients at once, or a write that comes too late", safety}, {"Nobody gets the lock", liveness}} {
		fmt.Fprintf(&b, "\n## %s\n\n", group.title)
		for _, w := range group.ways {
			fmt.Fprintf(&b, "- [%s](%s/%s.md): %s\n", w.Title, guideFolder, w.Guarantee, firstSentence(w.Lead))
		}
	}
	b.WriteString("\n## More\n\n- [Choosing a lock](docs/guide/choosing.md)\n" +
		"- [Kleppmann and antirez, claim by claim](docs/guide/debate.md)\n" +
		"- [Your own lock on trial](docs/guide/your-own-lock.md)\n- [All docs](docs/README.md)\n")
	return b.String()
}

// text is the page of a guarantee as Markdown: what its file has, its experiments, and what was seen of libraries.
func (w *way) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The guarantee `%s`: %s.\n%s\n## Experiments\n\n", w.Guarantee, w.Guarantee.Title(), w.Text)
	for _, sc := range w.Scenarios {
		fmt.Fprintf(&b, "- [%s](../../scenarios/%s.yaml): %s\n", sc.Name, sc.Name, sc.Title)
	}
	b.WriteString("\n## What was seen of well-known libraries\n\n")
	if w.Record == nil {
		b.WriteString("Not measured yet.\n")
		return b.String()
	}
	b.WriteString("The worst state of the cases that apply, and how many of them are kept. \"Kept\" is no proof.\n\n" +
		"| library | state | kept |\n|---|---|---|\n")
	for _, c := range w.Record.Cells {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Lock, c.State.Badge().Word, c.Count)
	}
	return b.String()
}

// text is the page of a scenario as Markdown.
func (s *shown) text(w *way) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Scenario `%s`", s.Name)
	if s.Source != "" {
		fmt.Fprintf(&b, ". Source: %s", s.Source)
	}
	if w != nil {
		fmt.Fprintf(&b, ". Guarantee: [%s](../%s/%s.md)", w.Title, guideFolder, w.Guarantee)
	}
	fmt.Fprintf(&b, "\n\n%s\n\n", strings.TrimSpace(s.Story))
	for _, v := range s.Variants {
		if v.Told() {
			fmt.Fprintf(&b, "## %s\n\n", v.Name)
		}
		b.WriteString(v.text())
	}
	fmt.Fprintf(&b, "## Run it\n\n```sh\n%s\n```\n\n"+
		"The whole report of this run, with its picture: `%s-report.html` beside this page.\n\n```yaml\n%s\n```\n",
		s.Command(), s.Name, strings.TrimSpace(s.Text()))
	return b.String()
}

// text is what came of a variant: its verdicts, and what happened.
func (v *variant) text() string {
	if v.NotApplicable != "" {
		return "Not applicable here: " + v.NotApplicable + "\n\n"
	}
	var b strings.Builder
	b.WriteString("| property | verdict | why |\n|---|---|---|\n")
	for _, p := range v.Verdicts() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, p.Verdict, strings.ReplaceAll(p.Why, "|", `\|`))
	}
	b.WriteString("\n")
	about := v.Subject().About
	if about == nil || about.Counterexample == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "What happened (%s):\n\n", about.Property)
	for _, told := range about.Counterexample.Story {
		fmt.Fprintf(&b, "- %.3f s: %s\n", told.At.Seconds(), told.Text)
	}
	b.WriteString("\n")
	return b.String()
}

// groupsText is the list of all scenarios as Markdown.
func groupsText(groups []*group) string {
	var b strings.Builder
	b.WriteString("Every scenario that sim ships, by the guarantee that it puts to the test.\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Guarantee)
		for _, sc := range g.Scenarios {
			fmt.Fprintf(&b, "- [%s](%s.yaml): %s\n", sc.Name, sc.Name, sc.Title)
		}
	}
	return b.String()
}
