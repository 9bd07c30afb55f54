package explore

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// Reason says why some runs did not judge a property.
type Reason struct {
	Property checker.Property `json:"property"`
	// Doubtful: the runs put the property to the test, and it could not be judged all the same. Else they gave it no chance to fail.
	Doubtful bool `json:"doubtful,omitempty"`
	// Why does not name clients, nodes and times, so that runs that differ in nothing else have one reason.
	Why  string `json:"why"`
	Runs uint64 `json:"runs"`
}

func (r Reason) compare(o Reason) int {
	rank := func(r Reason) int {
		if r.Doubtful {
			return 0
		}
		return 1
	}
	return cmp.Or(strings.Compare(string(r.Property), string(o.Property)), rank(r)-rank(o), strings.Compare(r.Why, o.Why))
}

// reasons say why a run did not judge properties.
func (v *verdicts) reasons() (list []Reason) {
	for i := range v.findings {
		if f := &v.findings[i]; f.Verdict == checker.Unknown {
			list = append(list, Reason{f.Property, f.Effort.Chances > 0, withoutNames(f.Why), 1})
		}
	}
	return list
}

// Of the words of a judge: instants, clients, nodes and numbers.
var (
	anInstant = regexp.MustCompile(`,? at -?[0-9.]+ (s|ms|\x{b5}s|us|ns)\b`)
	aClient   = regexp.MustCompile(`\bc[0-9]+\b`)
	aNode     = regexp.MustCompile(`\bnode [A-Z][A-Z0-9]*\b`)
)

// withoutNames leaves out what differs from run to run.
func withoutNames(why string) string {
	if !strings.ContainsAny(why, "0123456789") && !strings.Contains(why, "node ") {
		return why
	}
	return aNode.ReplaceAllString(aClient.ReplaceAllString(anInstant.ReplaceAllString(why, ""), "a client"), "a node")
}
