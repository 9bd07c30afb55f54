package keystory

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// Report is a story for programs and for pages.
type Report struct {
	// Where is what was looked at.
	Where string `json:"where"`
	// Outcome is FOUND, NOTHING FOUND, UNKNOWN or NO LOCK SEEN; Verdict says it in one line.
	Outcome string `json:"outcome"`
	Verdict string `json:"verdict"`
	// Findings counts what is certain, Questions the rest.
	Findings  int `json:"findings"`
	Questions int `json:"questions"`
	Commands  int `json:"commands"`
	// From and To are when the first and the last command were.
	From  Instant  `json:"from"`
	To    Instant  `json:"to"`
	Notes []string `json:"notes,omitempty"`
	// NoLocks counts keys that are those of no locks, LeftOut commands on locks that were not followed, LeftValues grants whose value was
	// forgotten.
	NoLocks    int          `json:"no_locks,omitempty"`
	LeftOut    int          `json:"left_out,omitempty"`
	LeftValues int          `json:"left_values,omitempty"`
	Locks      []LockReport `json:"locks"`
}

// Instant is a Time: Wall in RFC 3339 (UTC), or, where a file has no times, Entry alone, the place among its entries.
type Instant struct {
	Wall  string `json:"time,omitempty"`
	Entry int    `json:"entry,omitempty"`
}

// LockReport is what befell one lock.
type LockReport struct {
	Key      string `json:"key"`
	Database int    `json:"database"`
	// Line says it in one line.
	Line string `json:"line"`
	Totals
	// Counts says how often each kind was found; a kind with a question mark counts questions.
	Counts map[Kind]int `json:"counts,omitempty"`
	// Findings are the first of each kind, Holds and Moments the latest; Earlier counts the moments before those.
	Findings []FindingReport `json:"found,omitempty"`
	Holds    []HoldReport    `json:"holds,omitempty"`
	Moments  []MomentReport  `json:"moments,omitempty"`
	Earlier  int             `json:"earlier_moments,omitempty"`
}

// FindingReport is something that was wrong.
type FindingReport struct {
	At       Instant `json:"at"`
	Kind     Kind    `json:"kind"`
	Question bool    `json:"question,omitempty"`
	Text     string  `json:"text"`
}

// HoldReport is the time for which one owner had the lock.
type HoldReport struct {
	Owner string `json:"owner"`
	// Connection set it. It is empty where nobody knows.
	Connection string `json:"connection,omitempty"`
	// From is absent where it was there before the look; To where it lasts, or nobody knows how long it did.
	From *Instant `json:"from,omitempty"`
	To   *Instant `json:"to,omitempty"`
	// Ending says how it ended: of one that lasts it is "held", of one of which nobody knows any more "unknown".
	Ending string `json:"ending"`
	// EndedBy is the connection that ended it.
	EndedBy string `json:"ended_by,omitempty"`
}

// MomentReport is something that befell a lock.
type MomentReport struct {
	At   Instant `json:"at"`
	Text string  `json:"text"`
	// Finding is the kind of what was wrong; with a question mark, it is a question.
	Finding string `json:"finding,omitempty"`
}

// Report says what befell all locks, those with findings first, as the text does.
func (s *Story) Report(where string, notes []string) *Report {
	r := &Report{Where: where, Outcome: s.outcome(), Verdict: s.Verdict(), Commands: s.Lines, From: s.First.instant(), To: s.Last.instant(),
		Notes: notes, LeftOut: s.Left.Keys, LeftValues: s.Left.Values, Locks: []LockReport{}}
	r.Findings, r.Questions = s.Tally()
	told := s.byWeight()
	r.NoLocks = len(s.order) - len(told)
	for _, k := range told {
		r.Locks = append(r.Locks, k.report())
	}
	return r
}

func (k *Lock) report() LockReport {
	l := LockReport{Key: plain.Text(k.Key), Database: k.DB, Line: k.line(), Totals: k.Totals, Counts: k.Counts, Earlier: k.Earlier}
	for _, f := range k.Findings {
		l.Findings = append(l.Findings, FindingReport{At: f.At.instant(), Kind: f.Kind, Question: f.Question, Text: plain.Text(f.Text)})
	}
	for _, h := range k.Holds {
		l.Holds = append(l.Holds, h.report())
	}
	for _, m := range k.Moments {
		told := MomentReport{At: m.At.instant(), Text: plain.Text(m.Text)}
		if m.Finding != nil {
			told.Finding = m.Finding.word()
		}
		l.Moments = append(l.Moments, told)
	}
	return l
}

func (h *Hold) report() HoldReport {
	r := HoldReport{Owner: plain.Text(h.Owner), Connection: plain.Text(h.Source), Ending: "unknown", EndedBy: plain.Text(h.By)}
	at := func(t Time) *Instant {
		if t == (Time{}) {
			return nil
		}
		i := t.instant()
		return &i
	}
	r.From = at(h.From)
	switch {
	case h.Over:
		r.To, r.Ending = at(h.End), h.How.String()
	case h.lock.hold == h:
		r.Ending = "held"
	}
	return r
}

func (t Time) instant() Instant {
	if t.At == 0 {
		return Instant{Entry: t.Entry}
	}
	return Instant{Wall: t.Wall().Format(time.RFC3339Nano), Entry: t.Entry}
}

// keepHold keeps a hold for the report: the latest are.
func (k *Lock) keepHold(h *Hold) {
	if len(k.Holds) >= max(k.story.o.Moments, 1) {
		k.Holds = slices.Delete(k.Holds, 0, 1)
	}
	k.Holds = append(k.Holds, h)
}
