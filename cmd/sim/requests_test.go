package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
)

// Each field of a request has a flag of its name, so that a user can ask what a file can.
func TestRequestsHaveFlags(t *testing.T) {
	a := &cli{variable: func(string) string { return "" }}
	for _, c := range []struct {
		command *cobra.Command
		asked   any
	}{
		{newRunCommand(a), &request.Run{}}, {newSearchCommand(a), &request.Search{}}, {newSweepCommand(a), &request.Sweep{}},
		{newAuditCommand(a), &request.Audit{}}, {newConformCommand(a), &request.Conform{}}, {newCheckCommand(a), &request.Check{}},
		{newCorpusCommand(a), &request.Corpus{}}, {newExplainCommand(a), &request.Explain{}}, {newSoakCommand(a), &request.Soak{}},
	} {
		names := request.Names(c.asked)
		if len(names) == 0 {
			t.Errorf("%s asks for nothing", c.command.Name())
		}
		for _, name := range names {
			if c.command.Flags().Lookup(name) == nil {
				t.Errorf("sim %s has no flag --%s", c.command.Name(), name)
			}
		}
	}
}

// A request names a program; it never permits one. No flag that permits something is a field of a request.
func TestRequestsPermitNothing(t *testing.T) {
	for _, asked := range []any{&request.Run{}, &request.Search{}, &request.Sweep{}, &request.Audit{}, &request.Conform{}, &request.Check{},
		&request.Corpus{}, &request.Explain{}, &request.Soak{}} {
		for _, name := range request.Names(asked) {
			if strings.HasPrefix(name, "allow-") && name != "allow-undecided" || strings.Contains(name, "password") {
				t.Errorf("%T has --%s", asked, name)
			}
		}
	}
}
