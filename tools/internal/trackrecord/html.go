package trackrecord

import (
	_ "embed" // the template
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
)

//go:embed page.tmpl
var recordTemplate string

// WriteHTML writes the record as a page of its own, which loads nothing. link leads from the page to a file of the
// repository.
func WriteHTML(w io.Writer, r *Record, link func(file string) string) error {
	return page.Write(w, recordTemplate, struct {
		*Record
		Link func(string) string
	}{r, link})
}

// HomepageParts are those of its address, so that a narrow page can break it at a slash.
func (l *Library) HomepageParts() []string { return strings.SplitAfter(l.Homepage, "/") }

// States are those that a cell can have.
func (*Record) States() []card.State { return card.States() }

// Day is when the search began.
func (s *search) Day() string { return day(s.Started) }

// FirstHeard says why nothing else is said of a finding that is withheld.
func (*Record) FirstHeard() string { return firstHeard }

// OpenToo says why some have no report at all.
func (*Record) OpenToo() string { return openToo }

// OfSearches says what the table of searches has.
func (*Record) OfSearches() string { return ofSearches }
