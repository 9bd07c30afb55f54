package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// maxAnnotations is how many annotations GitHub shows of one step.
const maxAnnotations = 10

// GitHubOptions say where a scenario's file is.
type GitHubOptions struct {
	// File returns the path of a result's scenario file, relative to the
	// repository, or "". It may be nil.
	File func(*Result) string
}

// WriteGitHub writes workflow commands that annotate the verdicts nobody
// expected, and nothing else: as many as GitHub shows, the last of them
// counting those that are left. The table for $GITHUB_STEP_SUMMARY is
// WriteMarkdown's.
func WriteGitHub(w io.Writer, results []*Result, o GitHubOptions) error {
	var lines []string
	for _, r := range results {
		file := ""
		if o.File != nil {
			file = o.File(r)
		}
		for i := range r.Variants {
			v := &r.Variants[i]
			for j := range v.Properties {
				if p := &v.Properties[j]; isUnexpected(p) {
					lines = append(lines, annotation(file, r, v, p))
				}
			}
		}
	}
	if left := len(lines) - maxAnnotations + 1; left > 1 {
		lines = append(lines[:maxAnnotations-1], "::error title=redlock-sim::"+
			commandData(fmt.Sprintf("%d more verdicts are not as expected; the job summary has them all", left)))
	}
	_, err := io.WriteString(w, strings.Join(append(lines, ""), "\n"))
	return err
}

func annotation(file string, r *Result, v *Variant, p *PropertyResult) string {
	var properties []string
	if file != "" {
		properties = append(properties, "file="+commandProperty(plain.Text(file)))
	}
	title := fmt.Sprintf("%s / %s: %s is %s", r.Scenario, v.Name, p.Name, besideExpectation(p))
	properties = append(properties, "title="+commandProperty(plain.Text(title)))
	message := plain.Text(p.Why)
	if text := storyText(p, replayOf(r, v)); text != "" {
		message += "\n" + strings.TrimRight(text, "\n")
	}
	return "::error " + strings.Join(properties, ",") + "::" + commandData(message)
}

// commandData escapes the message of a workflow command, commandProperty a
// property's value, as the runner reads them.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func commandProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
