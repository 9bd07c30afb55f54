package docstest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Block is a fenced block of code of a page.
type Block struct {
	// Language is the first word of its fence, Mark what else the fence says: "yaml part" has
	// the mark "part".
	Language, Mark string
	// File is the last file that the paragraph before it names; empty: none.
	File string
	Text string
	// Line is that of its fence in the page, from 1.
	Line int
}

// Skip is the reason why nobody can do what a block says: its fence says "skip: reason".
func (b Block) Skip() (reason string, skipped bool) {
	reason, skipped = strings.CutPrefix(b.Mark, "skip:")
	return strings.TrimSpace(reason), skipped
}

// Page is a page of the project, taken apart.
type Page struct {
	Blocks []Block
	// Prose is the rest, with an empty line for each line of a block, so that lines keep their
	// numbers.
	Prose []string
}

var (
	fence     = regexp.MustCompile("^( *)```+([^`]*)$")
	namesFile = regexp.MustCompile("`([\\w./-]+\\.(?:go|py|md|yaml|yml|json|jsonl|edn|txt))`")
)

// ReadPage takes a page apart. A block that no test could follow fails the test: one without a
// language, one that is indented, and one that does not end.
func ReadPage(t testing.TB, page string) Page {
	t.Helper()
	p, faults := parsePage(page, Read(t, page))
	for _, fault := range faults {
		t.Error(fault)
	}
	return p
}

// parsePage takes the text of a page apart, and says which of its blocks no test could follow.
func parsePage(page, text string) (p Page, faults []string) {
	errorf := func(message string, args ...any) { faults = append(faults, fmt.Sprintf(message, args...)) }
	var open *Block
	paragraph, empty := "", true // the text since the last empty line, and whether the line before is empty
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		p.Prose = append(p.Prose, "")
		switch {
		case open != nil && m == nil:
			open.Text += line + "\n"
		case open != nil:
			p.Blocks, open = append(p.Blocks, *open), nil
			paragraph, empty = "", true
		case m != nil:
			open = &Block{Line: i + 1}
			open.Language, open.Mark, _ = strings.Cut(strings.TrimSpace(m[2]), " ")
			if names := namesFile.FindAllStringSubmatch(paragraph, -1); len(names) > 0 {
				open.File = names[len(names)-1][1]
			}
			if open.Language == "" || m[1] != "" {
				errorf("%s:%d: a block needs a language, and begins at the begin of its line", page, i+1)
			}
			if reason, skipped := open.Skip(); skipped && reason == "" || strings.HasPrefix(open.Mark, "skip") && !skipped {
				errorf("%s:%d: a block that is skipped says why: skip: reason", page, i+1)
			}
		default:
			p.Prose[i] = line
			if empty && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")) {
				errorf("%s:%d: a block of code is fenced, not indented", page, i+1)
			}
			if empty && line != "" {
				paragraph = ""
			}
			paragraph += line + "\n"
			empty = line == ""
		}
	}
	if open != nil {
		errorf("%s:%d: the block does not end", page, open.Line)
	}
	return p, faults
}

// Blocks are the blocks of a page that are to be done or kept, in their order.
func Blocks(t testing.TB, page string) (list []Block) {
	t.Helper()
	for _, b := range ReadPage(t, page).Blocks {
		if _, skipped := b.Skip(); !skipped {
			list = append(list, b)
		}
	}
	return list
}

// Pages are the pages of the project that say what to do.
func Pages(t testing.TB) (list []string) {
	t.Helper()
	root := Root(t)
	patterns := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/*.md", "docs/guide/*.md",
		"docs/reference/*.md", "docs/internals/*.md", "docs/findings/*.md",
		"adapters/README.md", "scenarios/README.md", "reports/README.md"}
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages (%v)", pattern, len(found), err)
		}
		for _, page := range found {
			page, err = filepath.Rel(root, page)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, filepath.ToSlash(page))
		}
	}
	reports, _ := filepath.Glob(filepath.Join(root, "unreported", "*.md")) // they may be kept elsewhere
	for _, page := range reports {
		list = append(list, "unreported/"+filepath.Base(page))
	}
	return list
}
