// Package docs holds the pages that sim ships.
package docs

import (
	"embed"
	"io/fs"
)

// LockProtocolSchema is the JSON Schema of the lock protocol.
//
//go:embed lock-protocol.schema.json
var LockProtocolSchema string

// ResultPage is the page that says what the fields of result.json mean.
//
//go:embed reference/result.md
var ResultPage string

// AuditPage is the page about the report card, which says what the fields of card.json mean.
//
//go:embed reference/audit.md
var AuditPage string

// OutputPage is the page that says what commands print with --json.
//
//go:embed reference/output.md
var OutputPage string

// LockLogPage is the page that says what the fields of a lock log mean.
//
//go:embed reference/lock-log.md
var LockLogPage string

// CorpusPage is the page that says what the fields of the index of a corpus mean.
//
//go:embed reference/corpus.md
var CorpusPage string

// ScenarioSchema is the JSON Schema of scenarios.
//
//go:embed scenario.schema.json
var ScenarioSchema string

//go:embed README.md guide/*.md reference/*.md scenario.schema.json lock-protocol.schema.json
var pages embed.FS

// Index is the page that lists all others.
const Index = "README.md"

// PageNames are the pages for who uses sim, by their paths in this folder, sorted.
func PageNames() (names []string) {
	_ = fs.WalkDir(pages, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	return names
}

// Page is the text of a page; empty: there is none of that name.
func Page(name string) string {
	text, _ := pages.ReadFile(name)
	return string(text)
}
