package trackrecord

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

const intro = `What ` + "`sim`" + ` saw of well-known lock libraries. ` +
	`Each library is used as it is, behind a [lock program](../adapters/README.md).
[` + "`sim audit`" + `](reference/audit.md) put it into all shipped scenarios that put a guarantee to the test: on real servers in
[virtual time](reference/virtual-world.md), or in real time where its store cannot be had there. Then ` + "`sim search`" + ` tried random
schedules of faults among real servers: in virtual time, or, as its command says (` + "`--world live`" + `), in real time. ` +
	`All took place on one machine.

A cell has the worst state of its cases, and how many of the cases that apply are kept; – says that none applies, because the lock
cannot do what it takes, its program here does not ask it to, or sim cannot try it in the store where the lock is kept;
and for fencing that the lock tells no token. A cell is also broken if a check of ` + "`sim conform`" + ` fails,
or *a finding* says so, though all its cases were kept. ` +
	`[The report card](reference/audit.md#the-guarantees) says what each guarantee is, and how a cell is decided.
*+2* says that two cases of the row came after the card was made: what it would say of them nobody knows yet,
and a library's program may by now be able to do what a *–* says that it is not.
*Kept* is no proof. *By design* means that no lock of this class can keep it.

Below stands for each library what its own documentation promises, in its words, and whether what was seen *agrees*, *contradicts*, was
*undecided* or *not tried*. Who promises what no lock of this class can keep is contradicted, too. A finding contradicts a promise,
too, though all cases of the audit were kept: it may take other settings, other runs or a search to see it.
`

// firstHeard says why nothing else is said of a finding.
const firstHeard = "Something was found in these, and the maintainers of the library hear of it first. " +
	"Until then nothing is said but where."

// openToo says why some have no report at all.
const openToo = "The record shows these, too, and no report of them is ready. " +
	"The reason can be in the library, in the program around it, or in sim."

const making = "`make track-record`" + ` measures, and writes this page. It takes hours: a minute of search for each library and each
topology that it has a client for, what it finds made smaller, and the audits. It can be stopped (Ctrl-C), and goes on where it was. ` +
	"`make track-record FOR=2m ONLY='redsync redis-py' JOBS=4`" + ` searches two libraries for 2 minutes each, with four runs
at once. ` + "`make track-record-pages`" + ` writes the page anew from what is kept in [the folder of the record](track-record). A library
is measured again if its version is another; to measure it anew for another reason, remove its folder there.
`

// text is a text of a program, code a command line, for Markdown.
var text, code = plain.Markdown, plain.MarkdownCode

// writeMarkdown writes docs/track-record.md.
func writeMarkdown(w io.Writer, r *Record) error {
	var b bytes.Buffer
	b.WriteString("# Track record\n\nWritten by `make track-record`: do not edit.\n\n" + intro + "\n")
	if len(r.Locks) == 0 {
		b.WriteString("No measurement is kept in the repository yet. The findings below were made by hand.\n")
	} else {
		b.WriteString("`make site` writes the same as a page for a browser: `.cache/site/track-record.html`.\n")
		r.tables(&b)
		r.searches(&b)
		for i := range r.Locks {
			r.Locks[i].markdown(&b)
		}
	}
	b.WriteString("\n## Findings\n\nThese were looked at in the source of the library, and its maintainers can know of them: " +
		"each report says where, and what helps.\n[What is published when](findings/README.md).\n")
	for i := range r.Findings {
		r.Findings[i].markdown(&b)
	}
	b.WriteString("\n## Not reported yet\n\n" + firstHeard + "\n\n")
	for i := range r.Withheld {
		fmt.Fprintf(&b, "- %s\n", r.Withheld[i].Heading())
	}
	if len(r.Open) > 0 {
		b.WriteString("\n" + openToo + "\n\n")
	}
	for _, o := range r.Open {
		fmt.Fprintf(&b, "- %s: %s\n", text(o.Lock), text(strings.Join(o.What, ", ")))
	}
	b.WriteString("\n## How to make it\n\n" + making)
	_, err := w.Write(b.Bytes())
	return err
}

func tableRow(b *bytes.Buffer, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func (r *Record) tables(b *bytes.Buffer) {
	b.WriteString("\n## Guarantees\n")
	for _, part := range r.Tables() {
		part.table(b)
	}
	if len(r.Missing) > 0 {
		var names []string
		for _, l := range r.Missing {
			names = append(names, fmt.Sprintf("[%s](%s)", text(l.Name), l.Homepage))
		}
		fmt.Fprintf(b, "\nNot measured yet: %s.\n", strings.Join(names, ", "))
	}
}

// ofSearches says what the table of searches has.
const ofSearches = "How long the card took, and what a search made of the program alone: the guarantees of which it found a violation " +
	"that is certain. The topology is how the nodes were arranged: as suits the lock, in a Redis Cluster, or under Redis Sentinel. " +
	"In the latter two what a failover loses, by design, is left out. " +
	"How long a card takes, and how many runs are made, depends on what else the machine does. " +
	"Below stands for each library what was found, and with which command."

// searches writes the table of searches.
func (r *Record) searches(b *bytes.Buffer) {
	b.WriteString("\n## Searches\n\n" + ofSearches + "\n\n")
	tableRow(b, "library", "card (s)", "topology", "searched for", "runs", "a second", "found in")
	tableRow(b, slices.Repeat([]string{"---"}, 7)...)
	for i := range r.Locks {
		for _, row := range r.Locks[i].SearchRows() {
			tableRow(b, fmt.Sprintf("[%s](#%s)", text(row.Lock), row.Lock), row.Card, row.Topology, row.For, row.Runs, row.Rate, text(row.Found))
		}
	}
}

// table writes the guarantees as one table.
func (r *Record) table(b *bytes.Buffer) {
	b.WriteString("\n")
	head := []string{"guarantee"}
	for i := range r.Locks {
		l := &r.Locks[i]
		head = append(head, fmt.Sprintf("%s<br>%s", text(l.Name), text(l.On.Version)))
	}
	tableRow(b, head...)
	tableRow(b, slices.Repeat([]string{"---"}, len(head))...)
	for _, row := range r.Rows {
		line := []string{"**" + text(row.Name) + "**"}
		for _, c := range row.Cells {
			badge, later := c.State.Badge(), ""
			if c.Found {
				later = "<br>a finding"
			}
			if c.Later > 0 {
				later += fmt.Sprintf("<br>+%d", c.Later)
			}
			if c.State == card.NotApplicable {
				line = append(line, badge.Icon+later)
				continue
			}
			line = append(line, fmt.Sprintf("%s %s<br>%s%s", badge.Icon, badge.Word, strings.TrimSuffix(c.Count, " kept"), later))
		}
		tableRow(b, line...)
	}
}

// markdown writes what is known of a library.
func (l *lock) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", text(l.Name))
	fmt.Fprintf(b, "<%s> %s, by the program in [%s](../%s).\n\n", l.Homepage, text(l.On.Version), l.Adapter, l.Adapter)
	fmt.Fprintf(b, "- Audit: %s; sim %s, redis %s. %s\n",
		text(l.Day()), text(l.Card.Versions["sim"]), text(l.Card.Versions["redis"]), code(l.Card.Replay))
	if later := l.LaterWords(); later != "" {
		fmt.Fprintf(b, "- %s.\n", text(later))
	}
	if l.On.NotConforming != "" {
		fmt.Fprintf(b, "- The program does not conform to the lock protocol, so nothing is held against it: %s.\n", text(l.On.NotConforming))
	}
	for _, c := range l.On.Findings() {
		fmt.Fprintf(b, "- `sim conform`: a check of %s fails. %s\n", text(c.Guarantee()), text(c.Why))
	}
	l.promises(b)
	if len(l.Searches) == 0 {
		b.WriteString("- Search: not yet.\n")
	}
	for _, s := range l.Searches {
		if s.Store != "" {
			fmt.Fprintf(b, "- Search: none. The lock is kept in %s. A search takes only what the keys in Redis confirm.\n", text(s.Store))
		} else {
			s.markdown(b)
		}
	}
}

// promises sets what the library's documentation says beside what was seen.
func (l *lock) promises(b *bytes.Buffer) {
	if l.Promises.None != "" {
		fmt.Fprintf(b, "- No promise: %s\n", l.Promises.None)
	}
	for _, p := range l.Promised() {
		fmt.Fprintf(b, "- Promise: \u201c%s\u201d ([documentation](%s), %s). Seen: %s.\n", text(p.Says), p.At, l.Promises.Version, p.Words())
	}
}

func (s *search) markdown(b *bytes.Buffer) {
	if s.Took == 0 {
		fmt.Fprintf(b, "- %s: it did not come to a run.\n", s.Heading())
	} else {
		fmt.Fprintf(b, "- %s: %s; sim %s, redis %s. %s.\n", s.Heading(), day(s.Started), text(s.Sim), text(s.Redis), text(s.Words()))
	}
	if !s.Done {
		b.WriteString("- The search was stopped before its end.\n")
	}
	for i := range s.Found {
		fmt.Fprintf(b, "- %s: %s.\n", s.Found[i].State(), text(s.Found[i].Words()))
	}
	for _, c := range s.Withheld {
		fmt.Fprintf(b, "- %s: %s\n", c.State(), text(c.Words()))
	}
	var nothing []string
	for _, n := range s.Nothing {
		// The confidence is said once for all, and what changed schedules did says nothing about frequency.
		worth, _, _ := strings.Cut(n.Worth, ", with 95 % confidence")
		nothing = append(nothing, fmt.Sprintf("%s (%s)", text(string(n.Property)), text(worth)))
	}
	if len(nothing) > 0 {
		fmt.Fprintf(b, "- Nothing found (bounds with 95 %% confidence): %s.\n", strings.Join(nothing, ", "))
	}
	for _, c := range s.Commands {
		fmt.Fprintf(b, "- Searched with %s\n", code(c))
	}
}

// markdown writes a finding. Its own texts are ours.
func (f *explained) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n### %s\n\n%s %s. How often: %s. %s\n\n", f.Title, f.Library, f.Version, f.Rate, code(f.Shows))
	for _, shown := range f.Shown {
		fmt.Fprintf(b, "- In this record: %s.\n", text(shown))
	}
	fmt.Fprintf(b, "- [Report](%s), [scenario](%s). Reported: <%s>, %s.\n",
		fromPage(markdownPage, f.Report), fromPage(markdownPage, f.Scenario), f.Address(), f.ReportedOn())
}

// fromPage is a link from a page to a file of the repository.
func fromPage(page, file string) string {
	to, err := filepath.Rel(path.Dir(page), file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(to)
}
