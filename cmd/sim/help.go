package main

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

// help prints the help of a command, for as many columns as there are. Where it is not known how many, its lines stay as they are.
func (a *cli) help(c *cobra.Command, _ []string) {
	text, columns := strings.TrimSpace(cmp.Or(c.Long, c.Short)), a.columnsOf(a.stdout)
	if columns <= 0 {
		_, _ = io.WriteString(a.stdout, text+"\n\n"+c.UsageString())
		return
	}
	columns = max(columns, leastWidth)
	out := terminal.Hanging{Writer: a.stdout, Width: columns}
	_, _ = io.WriteString(&out, reflowed(text, columns)+"\n\n"+c.UsageString())
	_, _ = a.stdout.Write(out.Rest())
}

// reflowed breaks the paragraphs anew in which a line is longer than it may be. One with lines that are indented stays: it is a list.
func reflowed(text string, columns int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		long, list := false, false
		for _, line := range lines {
			long, list = long || len([]rune(line)) > columns, list || strings.HasPrefix(line, " ")
		}
		if long && !list {
			paragraphs[i] = strings.Join(terminal.Wrap(p, columns), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
