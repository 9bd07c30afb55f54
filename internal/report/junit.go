package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// JUnitOptions say what counts as a failure.
type JUnitOptions struct {
	// AllowUndecided reports what could not be judged as skipped instead of
	// failed.
	AllowUndecided bool
	// Missing are the shards that merged results lack: each is a test case that failed.
	Missing []string
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitTotals
	Suites []junitSuite `xml:"testsuite"`
}

type junitTotals struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuite struct {
	junitTotals
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name  string `xml:"name,attr"`
	Class string `xml:"classname,attr"`
	Time  string `xml:"time,attr"`
	// Tried is absent where there was one try.
	Tried   *junitTried  `xml:"properties,omitempty"`
	Failure *junitDetail `xml:"failure,omitempty"`
	Error   *junitDetail `xml:"error,omitempty"`
	Skipped *junitDetail `xml:"skipped,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitTried struct {
	Properties []junitProperty `xml:"property"`
}

type junitDetail struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a test suite for every variant of every scenario, with a
// test case for every property. Names are made of the scenario's own, so that
// a CI system can follow a case over time.
func WriteJUnit(w io.Writer, results []*Result, o JUnitOptions) error {
	all := junitSuites{junitTotals: junitTotals{Name: "redlock-sim"}}
	var total time.Duration
	for _, r := range results {
		total += time.Duration(r.WallMS) * time.Millisecond
		for _, s := range junitSuitesOf(r, o) {
			s.count()
			all.Tests += s.Tests
			all.Failures += s.Failures
			all.Errors += s.Errors
			all.Skipped += s.Skipped
			all.Suites = append(all.Suites, s)
		}
	}
	if len(o.Missing) > 0 {
		s := junitSuite{junitTotals: junitTotals{Name: "shards", Time: junitTime(0)}}
		for _, shard := range o.Missing {
			s.Cases = append(s.Cases, junitCase{Name: "shard " + plain.Text(shard), Class: "shards", Time: junitTime(0),
				Failure: &junitDetail{Message: "the shard " + plain.Text(shard) + " is missing", Type: "undecided"}})
		}
		s.count()
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Suites = append(all.Suites, s)
	}
	all.Time = junitTime(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("failed to write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitSuitesOf(r *Result, o JUnitOptions) []junitSuite {
	name := plain.Text(r.Scenario)
	var list []junitSuite
	if r.Error != "" {
		list = append(list, junitSuite{junitTotals: junitTotals{Name: name, Time: junitTime(0)}, Timestamp: plain.Text(r.Started),
			Cases: []junitCase{junitFailedRun(name, r.Error)}})
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		class := name + "." + plain.Text(v.Name)
		wall := time.Duration(v.WallMS) * time.Millisecond
		s := junitSuite{junitTotals: junitTotals{Name: name + "/" + plain.Text(v.Name), Time: junitTime(wall)}, Timestamp: plain.Text(r.Started),
			Properties: []junitProperty{{"seed", fmt.Sprint(seedOf(r, v))}, {"world", plain.Text(r.World)}, {"replay", plain.Text(replayOf(r, v))}}}
		if tries := v.triesWords(); tries != "" {
			s.Properties = append(s.Properties, junitProperty{"tries", plain.Text(tries)})
		}
		if v.TooSlow != "" {
			s.Properties = append(s.Properties, junitProperty{"too slow", plain.Text(v.TooSlow)})
		}
		if l := v.Lock; l != nil {
			s.Properties = append(s.Properties, junitProperty{"lock", plain.Text(strings.Join(l.Facts(), "; "))})
		}
		if v.NotApplicable != "" {
			s.Cases = append(s.Cases, junitCase{Name: "run", Class: class,
				Time: junitTime(0), Skipped: &junitDetail{Message: "not applicable: " + plain.Text(v.NotApplicable)}})
		}
		if v.Error != "" && v.Error != r.Error {
			s.Cases = append(s.Cases, junitFailedRun(class, v.Error))
		}
		if v.Unknown != "" {
			s.Cases = append(s.Cases, junitUnknown(class, v.Doubt(), o))
		}
		for j := range v.Properties {
			c := junitCaseOf(replayOf(r, v), &v.Properties[j], o)
			c.Class = class
			s.Cases = append(s.Cases, c)
		}
		list = append(list, s)
	}
	return list
}

// junitFailedRun is the case of a run that could not be carried out.
func junitFailedRun(class, why string) junitCase {
	return junitCase{Name: "run", Class: class, Time: junitTime(0), Error: &junitDetail{Message: plain.Text(why), Type: "environment"}}
}

// junitUnknown is the case of a run that tells nothing.
func junitUnknown(class, why string, o JUnitOptions) junitCase {
	c := junitCase{Name: "run", Class: class, Time: junitTime(0)}
	detail := &junitDetail{Message: plain.Text(why)}
	if o.AllowUndecided {
		c.Skipped = detail
		return c
	}
	detail.Type = "undecided"
	c.Failure = detail
	return c
}

func junitCaseOf(replay string, p *PropertyResult, o JUnitOptions) junitCase {
	// The variant was run once for all properties: the suite has the time.
	c := junitCase{Name: plain.Text(string(p.Name)), Time: junitTime(0)}
	beside := besideExpectation(p)
	if p.Expected == 0 && !p.ByDesign { // nobody sees it beside others that have an expectation
		beside += ", " + expectationWords(p)
	}
	said := plain.Text(beside + ": " + p.Why)
	detail := &junitDetail{Message: said, Text: storyText(p, replay)}
	if t := p.Tried; t != nil {
		c.Tried = &junitTried{[]junitProperty{{"tries", fmt.Sprint(t.Made)},
			{"shown", fmt.Sprintf("%s in %d of %d", verdictWord(p.Verdict), t.Times, t.Made)}}}
	}
	switch {
	case isUnexpected(p):
		detail.Type = "unexpected-verdict"
		c.Failure = detail
	case isUndecided(p) && !o.AllowUndecided:
		detail.Type = "undecided"
		c.Failure = detail
	case isUndecided(p) || p.Expected == 0 && p.Verdict != checker.Holds: // what nobody asked for has not passed
		c.Skipped = &junitDetail{Message: said}
	default:
		c.Out = said
	}
	return c
}

// storyText tells a counterexample's story in plain lines, and how to see it
// again.
func storyText(p *PropertyResult, replay string) string {
	text := ""
	if c := p.Counterexample; c != nil {
		for _, s := range c.Story[:min(len(c.Story), maxSentences)] {
			text += fmt.Sprintf("%s  %s\n", words.Seconds(s.At), plain.Text(s.Text))
		}
		if c.Assumption != "" {
			text += "The assumption that failed: " + plain.Text(c.Assumption) + "\n"
		}
	}
	if replay != "" {
		text += "replay: " + plain.Text(replay) + "\n"
	}
	return text
}

func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
