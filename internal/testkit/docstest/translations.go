package docstest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/docs"
)

// versionLine is the line below the title of a translation: it leads to the original, and says of which version of it this
// is a translation.
var versionLine = regexp.MustCompile("\\A\ufeff?# [^\n]+\n\n本页译自英文版 \\[([^\\]\n]+)\\]\\(([^)\\s]+)\\)，原文版本 `([0-9a-f]{12})`。\n(?:\n|\\z)")

// Version is that of a page, for the line of a translation: the first digits of the SHA-256 of what the page says.
func Version(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:12] }

// Translations are the translated pages of a repository, of them those that are behind their originals, in a sentence each,
// and what is wrong with the others. A page that is behind is not wrong: it says of which version it is.
func Translations(repository fs.FS) (pages, behind, faults []string, err error) {
	err = fs.WalkDir(repository, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && strings.Split(file, "/")[0] != "docs":
			return fs.SkipDir
		}
		if _, ok := docs.Original(file); ok {
			pages = append(pages, file)
		}
		return nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	wanted, err := fs.Glob(repository, "docs/guide/*.md")
	if err != nil {
		return nil, nil, nil, err
	}
	for _, original := range append(wanted, "README.md", "docs/README.md", "docs/reference/glossary.md") {
		if !slices.Contains(pages, docs.Translation(original)) {
			faults = append(faults, fmt.Sprintf("%s has no translation: write %s, as CONTRIBUTING.md says", original, docs.Translation(original)))
		}
	}
	for _, page := range pages {
		isBehind, wrong := translation(repository, page)
		behind = append(behind, isBehind...)
		faults = append(faults, wrong...)
	}
	return pages, behind, faults, nil
}

func translation(repository fs.FS, page string) (behind, faults []string) {
	fault := func(message string, args ...any) ([]string, []string) {
		return nil, []string{page + ": " + fmt.Sprintf(message, args...)}
	}
	original, _ := docs.Original(page)
	text, err := fs.ReadFile(repository, page)
	if err != nil {
		return fault("%v", err)
	}
	source, err := fs.ReadFile(repository, original)
	if err != nil {
		return fault("its original is not there: %v", err)
	}
	version := Version(source)
	m := versionLine.FindStringSubmatch(string(text))
	if m == nil {
		return fault("below the title and an empty line, want\n本页译自英文版 [%s](PATH)，原文版本 `%s`。\nand an empty line", original, version)
	}
	if m[1] != original || path.Join(path.Dir(page), m[2]) != original {
		return fault("its line of the version names and links %s and %s, want %s", m[1], m[2], original)
	}
	here, wrong := parsePage(page, string(text))
	wrong = append(wrong, untranslatedLinks(repository, page, here.Prose)...)
	if m[3] != version {
		return []string{fmt.Sprintf("%s is a translation of version %s of %s, which is %s now", page, m[3], original, version)}, wrong
	}
	faults = wrong
	there, _ := parsePage(original, string(source))
	for i := range max(len(here.Blocks), len(there.Blocks)) {
		switch {
		case i >= len(here.Blocks):
			return nil, append(faults, fmt.Sprintf("%s lacks the block at %s:%d", page, original, there.Blocks[i].Line))
		case i >= len(there.Blocks):
			return nil, append(faults, fmt.Sprintf("%s:%d: %s has no such block", page, here.Blocks[i].Line, original))
		case code(here.Blocks[i]) != code(there.Blocks[i]):
			return nil, append(faults, fmt.Sprintf("%s:%d: the block differs from that at %s:%d: only comments of commands are translated",
				page, here.Blocks[i].Line, original, there.Blocks[i].Line))
		}
	}
	return nil, faults
}

var linkTarget = regexp.MustCompile(`\]\(([^)#\s]+)[^)\s]*\)`)

// untranslatedLinks are the links of a translation to pages of which there is a translation, but for the one to its original.
func untranslatedLinks(repository fs.FS, page string, prose []string) (faults []string) {
	for i, line := range prose {
		if strings.HasPrefix(line, "本页译自英文版 ") {
			continue
		}
		for _, m := range linkTarget.FindAllStringSubmatch(line, -1) {
			to := path.Join(path.Dir(page), m[1])
			if to != "README.md" && !strings.HasPrefix(to, "docs/") {
				continue
			}
			if _, err := fs.Stat(repository, docs.Translation(to)); err == nil && strings.HasSuffix(to, ".md") {
				faults = append(faults, fmt.Sprintf("%s:%d: a link to %s, of which there is a translation: %s", page, i+1, to, docs.Translation(to)))
			}
		}
	}
	return faults
}

var shellComment = regexp.MustCompile(`(?m)(^|[ \t]+)#( exit code \d+\b)?.*$`)

// code is a block as a translation must have it: with its fence, and without the comments of commands, which are translated.
// An exit code in a comment stays, for tests read it.
func code(b Block) string {
	text := b.Text
	if b.Language == "sh" || b.Language == "console" {
		text = shellComment.ReplaceAllString(text, "$2")
	}
	return b.Language + " " + b.Mark + "\n" + text
}
