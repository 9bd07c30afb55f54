package trackrecord

import (
	_ "embed" // the template
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

//go:embed page.tmpl
var page string

// writeHTML writes reports/gallery/track-record.html. It needs nothing else.
func writeHTML(w io.Writer, r *Record) error { return report.WritePage(w, page, r) }

// ReportLink and ScenarioLink lead from the page to the files of a finding.
func (f *explained) ReportLink() string   { return fromPage(htmlPage, f.Report) }
func (f *explained) ScenarioLink() string { return fromPage(htmlPage, f.Scenario) }

// HomepageParts are those of its address, so that a narrow page can break it at a slash.
func (l *Library) HomepageParts() []string { return strings.SplitAfter(l.Homepage, "/") }

// States are those that a cell can have.
func (*Record) States() []report.CellState { return report.CellStates() }

// Day is when the search began.
func (s *search) Day() string { return day(s.Started) }
