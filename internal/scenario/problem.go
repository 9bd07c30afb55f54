package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Problem is one thing wrong with a scenario file.
type Problem struct {
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
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", clip(p.Path))
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

// suggest adds what is allowed, and which of it was probably meant.
func (p *Problem) suggest(got string, allowed []string) {
	p.Allowed = allowed
	best, distance := "", 1+max(len(got), 3)/3
	for _, a := range allowed {
		if d := levenshtein.ComputeDistance(strings.ToLower(clip(got)), strings.ToLower(a)); d <= distance && d < len(got) {
			best, distance = a, d-1
		}
	}
	if best != "" {
		p.Hint = fmt.Sprintf("did you mean %q?", best)
	}
}

// Problems are all things wrong with a scenario file.
type Problems []*Problem

func (ps Problems) Error() string {
	return strings.Join(namesOf(ps, (*Problem).Error), "\n")
}

// sorted orders problems by their place in the file, each once: variants that
// overlay the same base would repeat those of the base.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b *Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	seen := make(map[string]bool)
	var out Problems
	for _, p := range ps {
		if text := p.Error(); !seen[text] {
			seen[text] = true
			out = append(out, p)
		}
	}
	return out
}
