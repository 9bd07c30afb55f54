package trackrecord

import (
	_ "embed" // the template
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

//go:embed page.tmpl
var page string

// WriteHTML writes the record as a page of its own, which loads nothing. link leads from the page to a file of the
// repository.
func WriteHTML(w io.Writer, r *Record, link func(file string) string) error {
	return report.WritePage(w, page, struct {
		*Record
		Link func(string) string
	}{r, link})
}

// HomepageParts are those of its address, so that a narrow page can break it at a slash.
func (l *Library) HomepageParts() []string { return strings.SplitAfter(l.Homepage, "/") }

// States are those that a cell can have.
func (*Record) States() []report.CellState { return report.CellStates() }

// Day is when the search began.
func (s *search) Day() string { return day(s.Started) }
