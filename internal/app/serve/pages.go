package serve

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/words"
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

// perPage is how many runs a page of the list has.
const perPage = 100

// listPage is a page of the list of runs.
type listPage struct {
	Query, Outcome string
	Outcomes       []string
	Rows           []listRow
	// Total counts all runs, Found those that match. The rows are From to To of these.
	Total, Found, From, To int
	// Unread counts the runs that are still being read.
	Unread   int
	Pages    []pageLink
	Delete   string
	ReadOnly bool
	Live     bool
	// Groups are what else there is to see. Campaigns: there is a page of them.
	Groups    []group
	Campaigns bool
	// Playground: there is one to lead to.
	Playground bool
	// Elsewhere are other folders with runs, where this one has none.
	Elsewhere []otherFolder
}

// otherFolder is a folder with runs, and the command that shows them.
type otherFolder struct{ Command, Runs string }

// pageLink leads to another page of the list; a gap leads nowhere.
type pageLink struct {
	Word, Link string
	Here       bool
}

type listRow struct {
	ID, Link, Scenario, Title, When string
	Seed                            uint64
	Class, Word, Icon               string
	Variants                        string
	Live, Judged                    bool
	// Met: all is as expected, or not applicable.
	Met bool
	// Before and After: chosen for a comparison at first.
	Before, After bool
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request) error {
	all := h.index.list(r.Context())
	p := listPage{Query: r.FormValue("q"), Outcome: r.FormValue("outcome"),
		Total: len(all.runs), Unread: all.unread, ReadOnly: h.o.ReadOnly, Campaigns: h.o.Campaigns != nil, Playground: h.o.Playground != nil}
	outcomes := make(map[string]bool)
	wanted := strings.Fields(strings.ToLower(p.Query))
	var found []*entry
	for _, e := range all.runs {
		outcomes[e.row.Word] = true
		if (p.Outcome == "" || p.Outcome == e.row.Word) && e.matches(wanted) {
			found = append(found, e)
		}
	}
	p.Outcomes, p.Found = slices.Sorted(maps.Keys(outcomes)), len(found)
	last := max(1, (len(found)+perPage-1)/perPage)
	n, _ := strconv.Atoi(r.FormValue("page"))
	n = min(max(n, 1), last)
	p.From, p.To = (n-1)*perPage+1, min(n*perPage, len(found))
	for _, e := range found[p.From-1 : p.To] {
		if e = h.index.fresh(e); !e.absent {
			p.Live = p.Live || e.row.Live
			p.Rows = append(p.Rows, e.row)
		}
	}
	choose(p.Rows)
	p.Groups = h.groups(all.runs)
	if p.Total == 0 && p.Unread == 0 {
		for _, folder := range Elsewhere(h.o.Dir) {
			count, _ := runs.Below(folder)
			p.Elsewhere = append(p.Elsewhere, otherFolder{"sim serve " + shellquote.Join(folder), words.Count(count, "run")})
		}
	}
	p.Pages = p.links(n, last)
	p.Delete = "/delete" + p.address(n)
	return h.render(w, http.StatusOK, "list.tmpl", p)
}

// address is the query of page n of the same search.
func (p *listPage) address(n int) string {
	q := make(url.Values)
	for key, value := range map[string]string{"q": p.Query, "outcome": p.Outcome} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if n > 1 {
		q.Set("page", strconv.Itoa(n))
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// links leads to the first and the last page, those around this one, and the next.
func (p *listPage) links(here, last int) []pageLink {
	if last == 1 {
		return nil
	}
	var list []pageLink
	if here > 1 {
		list = append(list, pageLink{Word: "Newer", Link: "/" + p.address(here-1)})
	}
	before := 0
	for n := 1; n <= last; n++ {
		if n > 1 && n < last && (n < here-2 || n > here+2) {
			continue
		}
		if n > before+1 {
			list = append(list, pageLink{Word: "…"})
		}
		list, before = append(list, pageLink{Word: strconv.Itoa(n), Link: "/" + p.address(n), Here: n == here}), n
	}
	if here < last {
		list = append(list, pageLink{Word: "Older", Link: "/" + p.address(here+1)})
	}
	return list
}

// choose proposes to compare the newest judged run that has one of the same scenario before it with that. Runs of
// different scenarios have nothing to be compared by, so that without such a pair nothing is chosen.
func choose(rows []listRow) {
	for i := range rows {
		same := func(r listRow) bool { return r.Judged && r.Scenario == rows[i].Scenario }
		if before := slices.IndexFunc(rows[i+1:], same); rows[i].Judged && before >= 0 {
			rows[i].After, rows[i+1+before].Before = true, true
			return
		}
	}
}

func rowOf(s stored) listRow {
	row := listRow{ID: s.id.String(), Link: s.id.link(), Scenario: s.id.scenario, Live: s.live,
		When: s.modified.UTC().Format("2006-01-02 15:04:05")}
	switch {
	case s.live:
		row.Class, row.Icon, row.Word = "undecided", "…", "Running"
	case s.trouble != nil:
		row.Class, row.Icon, row.Word, row.Title = "unsafe", "!", "Unreadable", s.trouble.Error()
	case s.result == nil:
		row.Class, row.Icon, row.Word = "undecided", "‖", "Cut short"
	default:
		row.Class, row.Icon, row.Word = report.Outcome(s.result)
		row.Title, row.Seed, row.Judged = shortened(s.result.Title, 200), s.result.Seed, true
		row.Met = report.AsExpected(s.result)
		if t, err := time.Parse(time.RFC3339, s.result.Started); err == nil {
			row.When = t.UTC().Format("2006-01-02 15:04:05")
		}
		var names []string
		for i := range s.result.Variants {
			names = append(names, s.result.Variants[i].Name)
		}
		row.Variants = shortened(strings.Join(names, ", "), 500)
	}
	return row
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
	return h.show(w, r, id)
}

// show shows a run.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, id runID) error {
	if s, _, err := h.look(id); err == nil && s.live {
		return h.render(w, http.StatusOK, "live.tmpl", struct {
			ID       string
			Variants []progress
		}{id.String(), h.progress(id)})
	}
	return h.with(r.Context(), []runID{id}, true, func(found []*report.Result) error {
		return h.report(w, func(b *bytes.Buffer) error { return report.WriteHTML(b, h.withPlayground(found[0])) })
	})
}

// report writes a page of package report, under the policy that its own code
// needs.
func (h *Handler) report(w http.ResponseWriter, write func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", page.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.WithWayBack(b.Bytes(), "/", "All runs"))
	return nil
}

// file hands out a run's own files, as plain text to be saved.
func (h *Handler) file(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	return h.saved(w, r, id, r.PathValue("path"))
}

// saved hands out a file of a run.
func (h *Handler) saved(w http.ResponseWriter, r *http.Request, id runID, name string) error {
	if !slices.Contains([]string{".yaml", ".json", ".jsonl", ".log"}, path.Ext(name)) {
		return errBadName
	}
	f, info, err := h.open(path.Join(id.dir(), path.Clean("/"+name)))
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment")
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

// two are the runs that a comparison names.
func two(r *http.Request) ([]runID, error) {
	a, err := parseID(r.FormValue("a"))
	if err != nil {
		return nil, err
	}
	b, err := parseID(r.FormValue("b"))
	return []runID{a, b}, err
}

func (h *Handler) compare(w http.ResponseWriter, r *http.Request) error {
	ids, err := two(r)
	if err != nil {
		return err
	}
	if r.FormValue("show") == "pictures" {
		http.Redirect(w, r, "/compare/pictures?"+r.URL.RawQuery, http.StatusSeeOther)
		return nil
	}
	return h.with(r.Context(), ids, false, func(found []*report.Result) error {
		c := compare.Results(found[:1], found[1:])
		c.Link(func(r *report.Result) string { return ids[slices.Index(found, r)].link() })
		return h.report(w, func(buf *bytes.Buffer) error { return compare.WriteHTML(buf, c) })
	})
}

// pictures shows two runs on one page: their variants together, on one scale
// and with one cursor.
func (h *Handler) pictures(w http.ResponseWriter, r *http.Request) error {
	ids, err := two(r)
	if err != nil {
		return err
	}
	return h.with(r.Context(), ids, true, func(found []*report.Result) error {
		a, b := found[0], found[1]
		both := *b
		both.Title = "Two runs side by side"
		both.Met, both.Undecided = a.Met && b.Met, a.Undecided || b.Undecided
		both.Interrupted = a.Interrupted || b.Interrupted
		both.Variants = nil
		for i, from := range found {
			for _, v := range from.Variants {
				v.Name += " (" + ids[i].run + ")"
				both.Variants = append(both.Variants, v)
			}
		}
		return h.report(w, func(buf *bytes.Buffer) error { return report.WriteHTML(buf, &both) })
	})
}

// problemPage says why runs cannot be shown, and how to get at them all the same.
type problemPage struct {
	Heading, Why string
	Runs         []problemRun
	Commands     []string
}

type problemRun struct {
	ID    string
	Files []runFile
}

// problem answers with what went wrong. No answer has a path in it that the user of
// sim did not give.
func (h *Handler) problem(w http.ResponseWriter, r *http.Request, err error) {
	var p problemPage
	code := http.StatusInternalServerError
	broken, isBroken := errors.AsType[*unreadable](err)
	large, isLarge := errors.AsType[*tooLarge](err)
	none, isNone := errors.AsType[*noPlayground](err)
	switch {
	case isBroken:
		code, p.Heading, p.Why = http.StatusUnprocessableEntity, broken.id.String()+" cannot be read", broken.why
		p.Runs = []problemRun{{broken.id.String(), h.files(broken.id)}}
	case isLarge:
		code, p.Heading, p.Why = http.StatusRequestEntityTooLarge, "Too large to be shown here", large.Error()
		ids, _ := two(r)
		if id, err := pathID(r); err == nil {
			ids = []runID{id}
		}
		for _, id := range ids {
			p.Runs = append(p.Runs, problemRun{id.String(), h.files(id)})
			p.Commands = append(p.Commands, "sim report "+shellquote.Join(filepath.Join(h.o.Dir, id.scenario, id.run)))
		}
	case isNone:
		code, p.Heading, p.Why = http.StatusServiceUnavailable, "There is no playground here yet", none.Error()
		if hinted, ok := errors.AsType[*words.Hinted](none.error); ok {
			p.Why = words.Sentence(hinted.Err.Error()) + " What to do: " + hinted.Hint + ". Then start sim serve again."
		}
	case errors.Is(err, errBusy):
		code, p.Heading, p.Why = http.StatusServiceUnavailable, "Other large pages are being made", "Load this page again later"
	case errors.Is(err, errReadOnly):
		code, p.Heading, p.Why = http.StatusForbidden, "This server deletes nothing", "It was started with --read-only."
	case errors.Is(err, errNoButton):
		code, p.Heading = http.StatusMethodNotAllowed, "Runs are deleted with the button in the list"
		w.Header().Set("Allow", http.MethodPost)
	case errors.Is(err, errNowhere):
		code, p.Heading, p.Why = http.StatusNotFound, "There is no such page", "The address may be that of an earlier version of sim."
	case errors.Is(err, errLive):
		code, p.Heading = http.StatusConflict, "The run is still in progress"
	case errors.Is(err, os.ErrNotExist), errors.Is(err, errBadName), errors.Is(err, machine.ErrNotRegular):
		code, p.Heading = http.StatusNotFound, "There is no such run or file"
	default:
		p.Heading = "The run could not be read"
	}
	if err := h.render(w, code, "problem.tmpl", p); err != nil {
		http.Error(w, p.Heading, code)
	}
}
