package virtual_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
)

func TestDump(t *testing.T) {
	var b strings.Builder
	for _, s := range scenariotest.Shipped(t) {
		for _, v := range s.Variants {
			h := act(t, s, v, 0, nil, fresh)
			for _, f := range checker.Judge(context.Background(), h, checker.Properties(), checker.Options{GrantWithin: v.Setup.GrantWithin}) {
				if c := f.Counterexample; c != nil {
					fmt.Fprintf(&b, "%s/%s %s: %s\n", s.Name, v.Name, f.Property, f.Why)
					for _, x := range c.Story {
						fmt.Fprintf(&b, "  %s %.3f s  [%d] %s\n", map[bool]string{true: "!!"}[x.Decisive], x.At.Seconds(), x.Event, x.Text)
					}
					fmt.Fprintf(&b, "    assumption: %s %v\n", c.Assumption, c.Decisive)
				}
			}
		}
	}
	os.WriteFile("/tmp/h/story-run/dump.txt", []byte(b.String()), 0o644)
}
