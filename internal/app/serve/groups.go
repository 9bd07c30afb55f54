package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// What audits and searches left lies below storedPath under the names that it has in the folder; so the links of a card lead to its runs.
const (
	storedPath = "/stored/"
	suitePath  = "/suite"
	// found is the folder in which searches leave what they find.
	found = "found"
)

// group is a kind of what there is to see, beside single runs.
type group struct {
	Name string
	// Links are the newest, More how many there are besides.
	Links []groupLink
	More  int
}

type groupLink struct{ Link, Text, Note string }

// mostLinked is how many of a group are on the first page, mostCards how large a card may be, in bytes.
const (
	mostLinked = 6
	mostCards  = 16 << 20
)

// groups are what there is to see, by kinds.
func (h *Handler) groups(all []*entry) (list []group) {
	if newest := newestOfEach(all); len(newest) > 1 {
		list = append(list, group{Name: "Suite", Links: []groupLink{{suitePath,
			"the newest run of each of " + words.Count(len(newest), "scenario"), suiteNote(newest)}}})
	}
	cards := group{Name: "Report cards"}
	for _, audit := range h.newestFolders(runs.Audits) {
		if info, err := h.root.Lstat(path.Join(runs.Audits, audit, runs.Card)); err == nil && info.Mode().IsRegular() {
			link := storedPath + (&url.URL{Path: path.Join(runs.Audits, audit)}).EscapedPath() + "/"
			cards.add(groupLink{link, h.locksOf(audit, len(cards.Links)), audit})
		}
	}
	finds := group{Name: "Found by searches"}
	names, _ := h.subfolders(found)
	for _, name := range names {
		if newest := h.newestFolders(path.Join(found, name)); len(newest) > 0 {
			finds.add(groupLink{runID{found, name, newest[0]}.link(), name, ""})
		}
	}
	for _, g := range []group{cards, finds} {
		if len(g.Links) > 0 {
			list = append(list, g)
		}
	}
	return list
}

// suiteNote says how many of the newest runs are not as expected.
func suiteNote(newest []*entry) string {
	off := 0
	for _, e := range newest {
		if !e.row.Met {
			off++
		}
	}
	if off == 0 {
		return "all as expected"
	}
	return words.Grouped(off) + " not as expected"
}

func (g *group) add(l groupLink) {
	if len(g.Links) == mostLinked {
		g.More++
		return
	}
	g.Links = append(g.Links, l)
}

// newestFolders are the folders in one, the newest first: their names begin with the time.
func (h *Handler) newestFolders(dir string) []string {
	names, _ := h.subfolders(dir)
	slices.Reverse(names)
	return names
}

// locksOf names the locks of an audit, of those that are on the first page.
func (h *Handler) locksOf(audit string, at int) string {
	if at >= mostLinked {
		return ""
	}
	c, err := h.card(audit)
	if err != nil {
		return "a card that cannot be read"
	}
	var names []string
	for i := range c.Locks {
		names = append(names, c.Locks[i].Label)
	}
	return shortened(strings.Join(names, ", "), 80)
}

// card reads the card of an audit.
func (h *Handler) card(audit string) (*card.Card, error) {
	f, info, err := h.open(path.Join(runs.Audits, audit, runs.Card))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > mostCards {
		return nil, errors.New("too large for a page")
	}
	return card.Read(f)
}

// nowhere answers for an address that leads nowhere.
func nowhere(http.ResponseWriter, *http.Request) error { return errNowhere }

// stored shows a card, or a run that an audit or a search made.
func (h *Handler) stored(w http.ResponseWriter, r *http.Request) error {
	at := r.PathValue("path")
	parts := strings.Split(strings.TrimSuffix(at, "/"), "/")
	for _, part := range parts {
		if !plainName(part) {
			return fmt.Errorf("%w: %q", errBadName, part)
		}
	}
	depth := map[string]int{found: 1, runs.Audits: 3}[parts[0]]
	switch {
	case depth == 0:
		return errNowhere
	case parts[0] == runs.Audits && len(parts) == 2:
		return h.storedCard(w, r, parts[1])
	case len(parts) < depth+2:
		return errNowhere
	}
	id := runID{path.Join(parts[:depth]...), parts[depth], parts[depth+1]}
	switch rest := parts[depth+2:]; {
	case len(rest) == 0 && !strings.HasSuffix(at, "/"), len(rest) == 1 && rest[0] == runs.Report:
		http.Redirect(w, r, id.link(), http.StatusSeeOther)
		return nil
	case len(rest) == 0:
		return h.show(w, r, id)
	case rest[0] == "file":
		return h.saved(w, r, id, path.Join(rest[1:]...))
	default:
		return h.saved(w, r, id, path.Join(rest...))
	}
}

// storedCard shows the card of an audit, made from its data as the report of a run is.
func (h *Handler) storedCard(w http.ResponseWriter, r *http.Request, audit string) error {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, r.URL.EscapedPath()+"/", http.StatusSeeOther)
		return nil
	}
	c, err := h.card(audit)
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err != nil {
		return &unreadable{runID{"", runs.Audits, audit}, runs.Card + ": " + reason(err)}
	}
	return h.report(w, func(b *bytes.Buffer) error { return card.WriteHTML(b, c) })
}

// newestOfEach are the newest judged runs, one of each scenario.
func newestOfEach(all []*entry) (list []*entry) {
	seen := make(map[string]bool)
	for _, e := range all { // the newest first
		if e.row.Judged && !seen[e.id.scenario] {
			seen[e.id.scenario] = true
			list = append(list, e)
		}
	}
	return list
}

// suite shows the newest run of each scenario as the page of a suite.
func (h *Handler) suite(w http.ResponseWriter, r *http.Request) error {
	var ids []runID
	for _, e := range newestOfEach(h.index.list(r.Context()).runs) {
		ids = append(ids, e.id)
	}
	if len(ids) == 0 {
		return os.ErrNotExist
	}
	slices.SortFunc(ids, func(a, b runID) int { return strings.Compare(a.scenario, b.scenario) })
	return h.with(context.WithoutCancel(r.Context()), ids, false, func(results []*report.Result) error {
		var entries []report.IndexEntry
		for i, result := range results {
			entries = append(entries, report.IndexEntry{Result: result, Link: ids[i].link()})
		}
		return h.report(w, func(b *bytes.Buffer) error { return report.WriteIndex(b, entries) })
	})
}
