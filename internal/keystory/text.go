package keystory

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bounds of what WriteText shows without Whole.
const (
	mostTold   = 20  // locks with their moments
	mostListed = 100 // locks with one line
	around     = 3   // moments before a finding
)

// TextOptions say how a story is written.
type TextOptions struct {
	// Whole: each moment that is kept is written, not only those around findings.
	Whole bool
}

// WriteText writes the story of each lock, those with findings first.
func (s *Story) WriteText(to io.Writer, o TextOptions) error {
	w := bufio.NewWriter(to)
	list := s.byWeight()
	quiet := 0
	for i, k := range list {
		told := o.Whole || len(k.Findings) > 0
		switch {
		case told && (o.Whole || i < mostTold):
			k.write(w, o.Whole)
		case quiet < mostListed:
			quiet++
			fmt.Fprintf(w, "%s: %s\n", k.Name(), k.line())
		default:
			quiet++
		}
	}
	if more := quiet - mostListed; more > 0 {
		fmt.Fprintf(w, "and %s more\n", words.Count(more, "lock"))
	}
	if none := len(s.order) - len(list); none > 0 {
		first := s.order[slices.IndexFunc(s.order, (*Lock).NoLock)]
		fmt.Fprintf(w, "not told: %s, counters, kept by a library beside its locks, or never asked for with NX and without a TTL, so no locks: "+
			"the first is %s\n",
			words.Count(none, "key"), first.Name())
	}
	if n := s.Over.Locks; n > 0 {
		fmt.Fprintf(w, "%s that were over gave way to others: %s\n", words.Count(n, "lock"), s.Over.Totals.line())
	}
	fmt.Fprintln(w, s.Verdict())
	if s.Left.Keys > 0 {
		fmt.Fprintf(w, "left out: %s on keys beyond the first %s locks\n", words.Count(s.Left.Keys, "command"), words.Grouped(mostLocks))
	}
	if s.Left.Values > 0 {
		fmt.Fprintf(w, "left out: the values of %s, which --resource does not find\n", words.Count(s.Left.Values, "grant"))
	}
	return w.Flush()
}

// Seen says how much was seen.
func (s *Story) Seen() string {
	if s.o.Events {
		return words.Count(s.Lines, "event")
	}
	return words.Count(s.Lines, "command")
}

// told are the keys that are told as locks.
func (s *Story) told() []*Lock { return slices.DeleteFunc(slices.Clone(s.order), (*Lock).NoLock) }

// byWeight are the keys that are told as locks, those with findings first.
func (s *Story) byWeight() []*Lock {
	list := s.told()
	slices.SortStableFunc(list, func(a, b *Lock) int { return b.weight() - a.weight() })
	return list
}

// The outcomes of a look.
const (
	SomethingFound = "FOUND"
	NothingFound   = "NOTHING FOUND"
	NobodyKnown    = "UNKNOWN"
	NoLockSeen     = "NO LOCK SEEN"
)

// outcome says in a word what was found.
func (s *Story) outcome() string {
	findings, _ := s.Tally()
	switch list := s.told(); {
	case len(list) == 0 && s.Over.Locks == 0:
		return NoLockSeen
	case findings > 0:
		return SomethingFound
	case s.Undecided():
		return NobodyKnown
	}
	return NothingFound
}

// Verdict says in one line what was found.
func (s *Story) Verdict() string {
	findings, questions := s.Tally()
	list, with := s.told(), 0
	for _, k := range list {
		if len(k.Findings) > 0 {
			with++
		}
	}
	all := len(list) + s.Over.Locks
	outcome, locks, asked := s.outcome(), words.Count(all, "lock"), words.Count(questions, "question")
	switch {
	case outcome == NoLockSeen && len(s.order) > 0:
		return outcome + ": the keys that --keys fits are those of no locks"
	case outcome == NoLockSeen:
		return outcome + ": nothing was done to a key that --keys fits"
	case outcome == NobodyKnown:
		return fmt.Sprintf("%s: %s, and nothing tells who held one", outcome, locks)
	case outcome == SomethingFound:
		return fmt.Sprintf("%s: %s, %s: %d of %s", outcome, words.Count(findings, "finding"), asked, with, locks)
	case questions > 0:
		return fmt.Sprintf("%s that is certain, %s: %d of %s", outcome, asked, with, locks)
	}
	return fmt.Sprintf("%s: %s", outcome, locks)
}

// Undecided reports that nothing was found, and that nothing could have been: nobody is known to have held a lock.
func (s *Story) Undecided() bool {
	findings, _ := s.Tally()
	return findings == 0 && s.Over.Totals.Holds == 0 && !slices.ContainsFunc(s.told(), func(k *Lock) bool { return k.Totals.Holds > 0 })
}

// weight is how much a lock has to be told first.
func (k *Lock) weight() (n int) {
	for _, f := range k.Findings {
		if n++; !f.Question {
			n += firsts * len(Kinds)
		}
	}
	return n
}

// Name is the key for a person, with its database where that is not the first.
func (k *Lock) Name() string {
	if k.DB == 0 {
		return plain.Text(short(k.Key))
	}
	return fmt.Sprintf("%s (database %d)", plain.Text(short(k.Key)), k.DB)
}

// line says in one line what befell a lock.
func (k *Lock) line() string { return k.Totals.line() }

func (t *Totals) line() string {
	list := []string{words.Count(t.Holds, "holder")}
	add := func(n int, format string, args ...any) {
		if n > 0 {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(int(t.Held), "held %s, at most %s at a time", durationText(t.Held), durationText(t.LongestHeld))
	if t.Released+t.RanOut+t.Removed > 0 {
		list = append(list, fmt.Sprintf("%d released, %d ran out, %d ended otherwise", t.Released, t.RanOut, t.Removed))
	}
	add(t.Ended, "%d ended, and nobody knows how", t.Ended)
	add(t.Renewals, "%s", words.Count(t.Renewals, "renewal"))
	add(int(t.LeastLeft), "at least %s of %s left", durationText(t.LeastLeft), durationText(t.TTL))
	add(t.Refused, "asked for in vain %s, at most %s in a second", times(t.Refused), times(t.MostAsked))
	add(int(t.LongestWait), "waited for %s at most", durationText(t.LongestWait))
	add(t.Unknown, "%s nobody knew who had it", times(t.Unknown))
	return strings.Join(list, "; ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return words.Grouped(n) + " times"
}

// write writes what befell a lock.
func (k *Lock) write(w io.Writer, whole bool) {
	fmt.Fprintf(w, "%s: %s\n", k.Name(), k.line())
	if k.Earlier > 0 && whole {
		fmt.Fprintf(w, "  %-12s  left out: %s before\n", "...", words.Count(k.Earlier, "moment"))
	}
	shown := make([]bool, len(k.Moments))
	for i, m := range k.Moments {
		if m.Finding != nil || whole {
			for j := max(0, i-around); j <= min(i+1, len(shown)-1); j++ {
				shown[j] = true
			}
		}
	}
	gap := false
	for i, m := range k.Moments {
		if !shown[i] {
			gap = true
			continue
		}
		if gap {
			fmt.Fprintln(w, "  ...")
		}
		gap = false
		fmt.Fprintf(w, "  %-12s  %s%s\n", m.At.Text(), plain.Text(m.Text), m.Finding.mark())
	}
	if gap {
		fmt.Fprintln(w, "  ...")
	}
	for _, f := range k.Findings { // those whose moment is not kept any more
		if !slices.ContainsFunc(k.Moments, func(m Moment) bool { return m.Finding == f }) {
			fmt.Fprintf(w, "  %-12s  %s%s\n", f.At.Text(), plain.Text(f.Text), f.mark())
		}
	}
	for _, known := range Kinds {
		for _, mark := range []string{"", "?"} {
			if n := k.Counts[known.Word+Kind(mark)]; n > firsts {
				fmt.Fprintf(w, "  [%s%s] %s in all\n", known.Word, mark, times(n))
			}
		}
	}
}

// mark is how a finding is marked.
func (f *Finding) mark() string {
	if f == nil {
		return ""
	}
	return " [" + f.word() + "]"
}

// word is the kind of a finding, with a question mark where it is a question.
func (f *Finding) word() string {
	if f.Question {
		return string(f.Kind) + "?"
	}
	return string(f.Kind)
}

// Line is a finding in one line.
func (k *Lock) Line(f *Finding) string {
	return fmt.Sprintf("%s  %s: %s%s", f.At.Text(), k.Name(), plain.Text(f.Text), f.mark())
}

// Text is the time of day, in UTC, or the place in the file.
func (t Time) Text() string {
	switch {
	case t.At == 0:
		return fmt.Sprintf("entry %d", t.Entry)
	case t.Entry > 0:
		return t.Wall().Format("15:04:05")
	}
	return t.Wall().Format("15:04:05.000")
}

// Wall is when it was.
func (t Time) Wall() time.Time { return time.Unix(0, int64(t.At)).UTC() }

// Period says when a look began and ended.
func Period(from, to time.Time) string {
	const day, clock = "2006-01-02 15:04:05", "15:04:05"
	end := to.Format(day)
	if strings.HasPrefix(end, from.Format("2006-01-02")) {
		end = to.Format(clock)
	}
	return fmt.Sprintf("%s to %s UTC", from.Format(day), end)
}
