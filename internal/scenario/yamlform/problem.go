package yamlform

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Problem is one thing wrong with a scenario file.
type Problem struct {
	// File is empty where the scenario stands in no file; then there is no line either.
	File         string
	Line, Column int
	// Path is the place in the document: lock.ttl.
	Path    string
	Message string
	// Allowed are the values or keys that would do.
	Allowed []string
	// Hint says how to mend it.
	Hint string
}

func (p *Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		fmt.Fprintf(&b, "%s:%d:%d: ", printable(p.File), p.Line, p.Column)
	}
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", printable(Clip(p.Path)))
	}
	b.WriteString(p.Message)
	if len(p.Allowed) > 0 {
		fmt.Fprintf(&b, "\n    allowed: %s", strings.Join(p.Allowed, ", "))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\n    hint: %s", p.Hint)
	}
	return b.String()
}

// printable shows names that a stranger has chosen so that they steer no terminal.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

// Suggest adds what is allowed, and which of it was probably meant.
func (p *Problem) Suggest(got string, allowed []string) {
	p.Allowed = allowed
	if best := Nearest(got, allowed); best != "" {
		p.Hint = fmt.Sprintf("did you mean %q?", best)
	}
}

// Nearest is what was probably meant; empty: nothing is near.
func Nearest(got string, allowed []string) string {
	best, distance := "", 1+max(len(got), 3)/3
	for _, a := range allowed {
		if d := levenshtein.ComputeDistance(strings.ToLower(Clip(got)), strings.ToLower(a)); d <= distance && d < len(got) {
			best, distance = a, d-1
		}
	}
	return best
}

// Problems are all things wrong with a scenario file.
type Problems []*Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sorted orders problems by their place in the file, each once: variants that
// overlay the same base would repeat those of the base. One of them may know better than
// another what is allowed.
func (ps Problems) Sorted() Problems {
	slices.SortStableFunc(ps, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), -cmp.Compare(min(len(a.Allowed), 1), min(len(b.Allowed), 1)))
	})
	seen := make(map[string]bool)
	var out Problems
	for _, p := range ps {
		bare := *p
		bare.Allowed, bare.Hint = nil, ""
		text := p.Error()
		if seen[text] || len(p.Allowed) == 0 && seen[bare.Error()] {
			continue
		}
		seen[text], seen[bare.Error()] = true, true
		out = append(out, p)
	}
	return out
}
