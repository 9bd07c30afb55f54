package report

import (
	"path"
	"reflect"
	"slices"
	"strings"
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
	return shared.facts()
}

// same: the program says the same of itself.
func (l *Lock) same(other *Lock) bool {
	a, b := *l, *other
	a.Logs, b.Logs = nil, nil
	return reflect.DeepEqual(a, b)
}

// facts say of a lock program what a reader of its verdicts must know.
func (l *Lock) facts() []string {
	list := []string{strings.TrimSpace(l.Name + " " + l.Version)}
	if l.Homepage != "" {
		list[0] += " (" + l.Homepage + ")"
	}
	return append(list, "class "+l.Class, "its promise: "+l.Promise)
}

// logLink leads from a run's page to a log of its folder.
type logLink struct{ Name, Link string }

func (l *Lock) logLinks() []logLink {
	var list []logLink
	for _, file := range l.Logs {
		if !slices.Contains(strings.Split(file, "/"), "..") {
			list = append(list, logLink{path.Base(file), "./" + strings.TrimLeft(file, "/")})
		}
	}
	return list
}
