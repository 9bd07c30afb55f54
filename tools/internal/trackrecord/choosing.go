package trackrecord

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
)

// choosingPage is written by hand, but for its tables: each stands between two comments, of which the first names a need.
const choosingPage = "docs/guide/choosing-a-library.md"

// need is what somebody wants of a lock.
type need struct {
	name string
	// meets reports that a library is meant for it.
	meets func(*lock) bool
	// rows are the guarantees that count then, but for those that no lock of its class can keep.
	rows []string
}

// tried reports that at least some cases of a guarantee apply to a lock.
func tried(guarantee string, atLeast int) func(*lock) bool {
	return func(l *lock) bool {
		n := 0
		for i := range l.On.Cells {
			if c := &l.On.Cells[i]; c.Guarantee() == guarantee && c.State != card.NotApplicable {
				n++
			}
		}
		return n >= atLeast
	}
}

func needs() []need {
	always := []string{"exclusive", "late-messages", "late-release", "owner-only", "dead-holder", "hung-node", "comes-back", "keeps-running",
		"without-ttl", "lost-release", "nothing-stays", "told-at-release", "client-clock", "progress"}
	return []need{
		{"one node", func(l *lock) bool { return l.On.Class != "quorum" }, append([]string{"wakes-up"}, always...)},
		{"several nodes", func(l *lock) bool { return l.On.Class == "quorum" },
			append([]string{"unreachable-minority", "dead-minority"}, always...)},
		// One case of Sentinel is about several nodes, so it says nothing of a library's client.
		{"Sentinel", tried("sentinel", 2), []string{"sentinel"}},
		{"Cluster", tried("cluster", 1), []string{"cluster"}},
		{"renews", tried("stays-held", 1), []string{"stays-held", "no-resurrection", "keeps-running"}},
		{"tells a loss", tried("told-when-lost", 1), []string{"told-when-lost", "no-false-alarm"}},
	}
}

// choice is a row of a table: a library, and what is against it.
type choice struct {
	lock            *lock
	broken, unknown []string
	allowed         string
}

// table lists the libraries that meet a need: those of which nothing is broken first, then those of which least is.
func (n *need) table(r *Record) string {
	var list []choice
	for i := range r.Locks {
		l := &r.Locks[i]
		if !n.meets(l) {
			continue
		}
		c := choice{lock: l}
		for _, g := range n.rows {
			one := cellOf(l, g)
			if one.byDesign && len(n.rows) == 1 {
				c.allowed = "by design: " + one.Count
			}
			switch one.State {
			case card.Broken:
				c.broken = append(c.broken, g)
			case card.Unknown:
				c.unknown = append(c.unknown, g)
			case card.Kept, card.NotApplicable, card.ByDesign: // nothing is against it
			}
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(len(a.broken), len(b.broken)), cmp.Compare(len(a.unknown), len(b.unknown)))
	})
	var b bytes.Buffer
	b.WriteString("\n| program | broken | undecided |\n|---|---|---|\n")
	for _, c := range list {
		broken := cmp.Or(strings.Join(c.broken, ", "), c.allowed, "nothing")
		fmt.Fprintf(&b, "| `%s` %s | %s | %s |\n", c.lock.Name, text(c.lock.On.Version), broken, cmp.Or(strings.Join(c.unknown, ", "), "nothing"))
	}
	return b.String() + "\n"
}

var generated = regexp.MustCompile(`(?s)(<!-- cards: ([A-Za-z ]+) -->\n).*?(<!-- end -->)`)

// withTables is a page with the tables that the record gives.
func withTables(page string, r *Record) (string, error) {
	var unknown error
	made := generated.ReplaceAllStringFunc(page, func(part string) string {
		m := generated.FindStringSubmatch(part)
		list := needs()
		i := slices.IndexFunc(list, func(n need) bool { return n.name == m[2] })
		if i < 0 {
			unknown = fmt.Errorf("%s: there is no need %q", choosingPage, m[2])
			return part
		}
		return m[1] + list[i].table(r) + m[3]
	})
	return made, unknown
}

// writeChoosing writes the tables of the page about choosing a library anew.
func writeChoosing(told io.Writer, root string, r *Record) error {
	file := filepath.Join(root, choosingPage)
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	made, err := withTables(string(page), r)
	if err != nil {
		return err
	}
	fmt.Fprintln(told, choosingPage)
	return machine.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, made); return err })
}
