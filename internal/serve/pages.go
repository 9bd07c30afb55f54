package serve

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

//go:embed page/*.tmpl page/serve.css
var pages embed.FS

var serveStyle = func() string {
	data, err := pages.ReadFile("page/serve.css")
	if err != nil {
		panic(err) // embedded: it is there or the program was not built
	}
	return string(data)
}()

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").ParseFS(pages, "page/*.tmpl"))
})

func (h *Handler) render(w http.ResponseWriter, code int, name string, data any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("failed to render %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
	return nil
}

// listPage is the list of runs.
type listPage struct {
	Query, Outcome string
	Outcomes       []string
	Rows           []listRow
	Total          int
	ReadOnly       bool
	Live           bool
}

type listRow struct {
	ID, Link, Scenario, Title, When string
	Seed                            uint64
	Class, Word, Icon               string
	Variants                        []string
	Live, Judged                    bool
	// Before and After: chosen for a comparison at first.
	Before, After bool
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request) error {
	runs, err := h.runs()
	if err != nil {
		return err
	}
	p := listPage{Query: r.FormValue("q"), Outcome: r.FormValue("outcome"), Total: len(runs), ReadOnly: h.o.ReadOnly}
	for _, s := range runs {
		row := rowOf(s)
		if !slices.Contains(p.Outcomes, row.Word) {
			p.Outcomes = append(p.Outcomes, row.Word)
		}
		if !row.matches(p.Query) || p.Outcome != "" && p.Outcome != row.Word {
			continue
		}
		p.Live = p.Live || row.Live
		p.Rows = append(p.Rows, row)
	}
	slices.Sort(p.Outcomes)
	choose(p.Rows)
	return h.render(w, http.StatusOK, "list.tmpl", p)
}

// choose proposes to compare the newest judged run with the one before it, of
// the same scenario where there is one.
func choose(rows []listRow) {
	after := slices.IndexFunc(rows, func(r listRow) bool { return r.Judged })
	if after < 0 {
		return
	}
	rows[after].After = true
	rest := rows[after+1:]
	before := slices.IndexFunc(rest, func(r listRow) bool { return r.Judged && r.Scenario == rows[after].Scenario })
	if before < 0 {
		before = slices.IndexFunc(rest, func(r listRow) bool { return r.Judged })
	}
	if before >= 0 {
		rest[before].Before = true
	}
}

func rowOf(s stored) listRow {
	row := listRow{ID: s.id.String(), Link: s.id.link(), Scenario: s.id.scenario, Live: s.live,
		When: s.modified.UTC().Format("2006-01-02 15:04:05")}
	switch {
	case s.live:
		row.Class, row.Icon, row.Word = "undecided", "…", "Running"
	case s.result == nil && s.modified.IsZero():
		row.Class, row.Icon, row.Word, row.When = "unsafe", "!", "Unreadable", ""
	case s.result == nil:
		row.Class, row.Icon, row.Word = "undecided", "‖", "Cut short"
	default:
		row.Class, row.Icon, row.Word = report.Outcome(s.result)
		row.Title, row.Seed, row.Judged = s.result.Title, s.result.Seed, true
		if t, err := time.Parse(time.RFC3339, s.result.Started); err == nil {
			row.When = t.UTC().Format("2006-01-02 15:04:05")
		}
		for i := range s.result.Variants {
			row.Variants = append(row.Variants, s.result.Variants[i].Name)
		}
	}
	return row
}

// matches reports whether the row has all words of the query somewhere.
func (row *listRow) matches(query string) bool {
	text := strings.ToLower(strings.Join(append([]string{row.ID, row.Title, row.Word, row.When}, row.Variants...), " "))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func pathID(r *http.Request) (runID, error) {
	return parseID(r.PathValue("scenario") + "/" + r.PathValue("run"))
}

// slash leads to the run's own address, under which its page lies.
func (h *Handler) slash(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	http.Redirect(w, r, id.link(), http.StatusMovedPermanently)
	return nil
}

// run shows a run: its report, or its progress while it is in hand. The report
// is rendered from the run's data; an HTML file that lies in the folder is not
// served, since anybody may have put it there.
func (h *Handler) run(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if s, ok := h.stored(id); ok && s.live {
		return h.render(w, http.StatusOK, "live.tmpl", struct {
			ID       string
			Variants []progress
		}{id.String(), h.progress(id)})
	}
	result, err := h.load(id)
	if err != nil {
		return err
	}
	return h.report(w, func(b *bytes.Buffer) error { return report.WriteHTML(b, result) })
}

// report writes a page of package report, under the policy that its own code
// needs.
func (h *Handler) report(w http.ResponseWriter, write func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", report.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
	return nil
}

// file hands out a run's own files, as plain text to be saved.
func (h *Handler) file(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	name := r.PathValue("path")
	if !slices.Contains([]string{".yaml", ".json", ".jsonl", ".log"}, path.Ext(name)) {
		return errBadName
	}
	f, err := h.root.Open(path.Join(id.dir(), path.Clean("/"+name)))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errBadName
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment")
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

// two loads the runs that a comparison names.
func (h *Handler) two(r *http.Request) (a, b *report.Result, ids [2]runID, err error) {
	for i, key := range []string{"a", "b"} {
		if ids[i], err = parseID(r.FormValue(key)); err != nil {
			return nil, nil, ids, err
		}
	}
	if a, err = h.load(ids[0]); err == nil {
		b, err = h.load(ids[1])
	}
	return a, b, ids, err
}

func (h *Handler) compare(w http.ResponseWriter, r *http.Request) error {
	a, b, _, err := h.two(r)
	if err != nil {
		return err
	}
	if r.FormValue("show") == "pictures" {
		http.Redirect(w, r, "/compare/pictures?"+r.URL.RawQuery, http.StatusSeeOther)
		return nil
	}
	c := report.Compare([]*report.Result{a}, []*report.Result{b})
	return h.report(w, func(buf *bytes.Buffer) error { return report.WriteComparisonHTML(buf, c) })
}

// pictures shows two runs on one page: their variants together, on one scale
// and with one cursor.
func (h *Handler) pictures(w http.ResponseWriter, r *http.Request) error {
	a, b, ids, err := h.two(r)
	if err != nil {
		return err
	}
	both := *b
	both.Title = "Two runs side by side"
	both.Met, both.Undecided = a.Met && b.Met, a.Undecided || b.Undecided
	both.Interrupted = a.Interrupted || b.Interrupted
	both.Variants = nil
	for i, from := range []*report.Result{a, b} {
		for _, v := range from.Variants {
			v.Name += " (" + ids[i].run + ")"
			both.Variants = append(both.Variants, v)
		}
	}
	return h.report(w, func(buf *bytes.Buffer) error { return report.WriteHTML(buf, &both) })
}
