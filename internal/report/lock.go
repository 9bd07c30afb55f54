package report

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// sharedLock is the lock program that all variants have; nil: they have none, or not the
// same.
func sharedLock(r *Result) *Lock {
	var first *Lock
	for i := range r.Variants {
		l := r.Variants[i].Lock
		switch {
		case l == nil:
			return nil
		case first == nil:
			first = l
		case !first.same(l):
			return nil
		}
	}
	return first
}

// lockOf are the facts of the lock program that all results are about; nil: there is none.
func lockOf(results []*Result) []string {
	var shared *Lock
	for _, r := range results {
		l := sharedLock(r)
		if l == nil || shared != nil && !shared.same(l) {
			return nil
		}
		shared = l
	}
	if shared == nil {
		return nil
	}
	return shared.Facts()
}

// same: the program says the same of itself.
func (l *Lock) same(other *Lock) bool {
	a, b := *l, *other
	a.Logs, b.Logs = nil, nil
	return reflect.DeepEqual(a, b)
}

// Facts say of a lock program what a reader of its verdicts must know.
func (l *Lock) Facts() []string {
	list := []string{strings.TrimSpace(l.Name + " " + l.Version)}
	if l.Homepage != "" {
		list[0] += " (" + l.Homepage + ")"
	}
	if l.About != "" {
		list = append(list, l.About)
	}
	list = append(list, l.Others...)
	class := "class " + l.Class
	if l.Store != "" {
		class += ", kept in " + l.Store
	}
	return append(list, class, "its promise: "+l.Promise)
}

// logLink leads from a run's page to a log of its folder.
type logLink struct{ Name, Link string }

// LogFiles are the logs, as far as they lie below the run's folder.
func (l *Lock) LogFiles() []string {
	var list []string
	for _, file := range l.Logs {
		if !slices.Contains(strings.Split(file, "/"), "..") {
			list = append(list, strings.TrimLeft(file, "/"))
		}
	}
	return list
}

func (l *Lock) logLinks() []logLink {
	var list []logLink
	for _, file := range l.LogFiles() {
		list = append(list, logLink{path.Base(file), "./" + file})
	}
	return list
}

// quote is the end of a log beside a picture.
type quote struct {
	logLink
	Words, Text string
}

func (v *variantView) quotes() []quote {
	var list []quote
	for _, p := range v.Printed {
		q := quote{logLink: logLink{path.Base(p.Log), "./" + p.Log}, Words: "all that it printed"}
		if p.Cut {
			q.Words = "the last " + words.Count(len(p.Lines), "line")
		}
		lines := make([]string, len(p.Lines))
		for i, line := range p.Lines {
			lines[i] = plain.Clip(line, maxValueRunes)
		}
		q.Text = strings.Join(lines, "\n")
		list = append(list, q)
	}
	return list
}
