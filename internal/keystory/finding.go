package keystory

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Kind says what was found.
type Kind string

// What can be found.
const (
	NotCompared    Kind = "deleted-without-comparing"
	ByAnother      Kind = "released-by-another"
	OverwrittenKey Kind = "overwritten"
	NotRenewed     Kind = "not-renewed-in-time"
	BroughtBack    Kind = "brought-back"
	WithoutTTL     Kind = "kept-without-ttl"
	TTLApart       Kind = "ttl-in-a-second-step"
	AskedTooOften  Kind = "asked-too-often"
	WroteWithout   Kind = "wrote-without-the-lock"
	EvictedKey     Kind = "evicted"
	VanishedKey    Kind = "vanished"
	LostByFailover Kind = "lost-by-failover"
)

// Kinds has a line for a person about each, the gravest first.
var Kinds = words.Titles[Kind]{
	{NotCompared, "a command ended a lock without comparing the owner's value"},
	{ByAnother, "somebody else than the holder ended a lock"},
	{OverwrittenKey, "another value was written over that of the holder"},
	{WroteWithout, "an owner wrote what the lock protects after its lock had ended"},
	{NotRenewed, "an owner came back after the TTL had run out: it was renewed late, or not at all"},
	{BroughtBack, "a command set the key anew for an owner whose lock had ended"},
	{WithoutTTL, "a lock was held without a TTL"},
	{TTLApart, "a lock got its TTL in a step of its own"},
	{EvictedKey, "the server evicted the key of a lock that was held"},
	{VanishedKey, "the key of a lock that was held was gone or another's, and no command that was seen has done it"},
	{LostByFailover, "a lock was held on a primary, and the server that took over had it not"},
	{AskedTooOften, "a lock that was held was asked for a thousand times within one second"},
}

// Finding is something that was wrong.
type Finding struct {
	Kind Kind
	// Question: it is so only if a connection is one client's.
	Question bool
	At       Time
	Text     string
}

// Moment is something that befell a lock.
type Moment struct {
	At   Time
	Text string
	// Finding: it was wrong. nil: it was not.
	Finding *Finding
	// renewals counts renewals, of the hold, that it stands for.
	renewals int
	of       *Hold
}

// firsts is how many findings of a kind are kept of each lock, and of questions of a kind.
const firsts = 3

// find takes note of a finding.
func (k *Lock) find(kind Kind, question bool, at Time, format string, args ...any) {
	if k.NoLock() || k.story.quiet {
		return
	}
	f := &Finding{Kind: kind, Question: question, At: at, Text: fmt.Sprintf(format, args...)}
	if question {
		kind += "?"
	}
	if k.Counts == nil {
		k.Counts = make(map[Kind]int)
	}
	if k.Counts[kind]++; k.Counts[kind] > firsts {
		return
	}
	k.Findings = append(k.Findings, f)
	k.add(Moment{At: at, Text: f.Text, Finding: f})
	if k.story.o.Tell != nil {
		k.story.o.Tell(k, f)
	}
}

// Tally is how many things were found that are certain, and how many questions there are.
func (s *Story) Tally() (findings, questions int) {
	for _, k := range s.order {
		for kind, n := range k.Counts {
			if strings.HasSuffix(string(kind), "?") {
				questions += n
			} else {
				findings += n
			}
		}
	}
	return findings, questions
}

func (k *Lock) tell(at Time, format string, args ...any) {
	k.add(Moment{At: at, Text: fmt.Sprintf(format, args...)})
}

// tellRenewal tells of a renewal. Renewals that follow one another are one moment.
func (k *Lock) tellRenewal(at Time, text string, h *Hold) {
	if n := len(k.Moments); n > 0 && k.Moments[n-1].of == h {
		m := &k.Moments[n-1]
		m.renewals++
		m.At, m.Text = at, fmt.Sprintf("%s: the %dth time in a row", text, m.renewals)
		return
	}
	k.add(Moment{At: at, Text: text, renewals: 1, of: h})
}

func (k *Lock) add(m Moment) {
	if len(k.Moments) >= max(k.story.o.Moments, 1) {
		k.Moments = k.Moments[1:]
		k.Earlier++
	}
	k.Moments = append(k.Moments, m)
}

func (e Ending) String() string {
	switch e {
	case Released:
		return "released"
	case RanOut:
		return "its TTL ran out"
	case Removed:
		return "removed by a command that does not name it"
	case Overwritten:
		return "overwritten"
	case Evicted:
		return "evicted"
	case Vanished:
		return "nobody saw how"
	case Lost:
		return "lost by a failover"
	case Unknown:
		return "removed, or its TTL ran out"
	}
	return "no ending"
}

// name is what a client called: a command, a transaction or a script.
func (a *act) name() string {
	name := strings.ToUpper(a.lines[0][0])
	switch {
	case isScript(a.lines[0]):
		return "a script (" + name + ")"
	case a.queued && a.changed != nil:
		return "a transaction (" + strings.ToUpper(a.changed[0]) + ")"
	}
	return name
}

// over says over which connection something was done.
func (k *Lock) over(source string) string {
	if source == "" {
		return ""
	}
	return " over " + k.story.connection(source)
}

// earlier says how long before an instant another was.
func earlier(now, then Time) string {
	if d, ok := now.since(then); ok {
		return " " + now.length(d) + " before"
	}
	return " before"
}

// length says how long something took till then. Of entries of a file only the seconds are known.
func (t Time) length(d time.Duration) string {
	switch {
	case t.Entry == 0:
		return durationText(d)
	case d < 2*time.Second:
		return "less than 2 s"
	}
	return "about " + durationText(d.Round(time.Second))
}

// until says how long a key lives.
func until(end, now Time) string {
	if now.Entry > 0 {
		return " until " + Time{At: end.At}.Text()
	}
	d, _ := end.since(now.inMs())
	return " for " + durationText(d)
}

// left says how long before its end a key was removed.
func left(k command.Key, now Time) string {
	if d, ok := endOf(k).since(now); ok && k.Expires != (command.Span{}) && d > 0 {
		return ", " + now.length(d) + " before its end"
	}
	return ""
}

// after says how long a hold has lasted.
func after(h *Hold, now Time) string {
	if d, ok := now.since(h.From); ok {
		return " after " + now.length(d)
	}
	return ""
}

func durationText(d time.Duration) string { return words.Duration(d.Round(10 * time.Microsecond)) }

// quote shows a word of unknown origin.
func quote(word string) string { return fmt.Sprintf("%q", short(word)) }

// short cuts a word that is too long to be shown.
func short(word string) string {
	if len(word) > longestShown {
		return word[:longestShown] + "..."
	}
	return word
}

const longestShown = 60
