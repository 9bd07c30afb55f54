package play

import (
	"context"
	"errors"
	"html/template"
	"regexp"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/play/engine"
)

// What the page shows until its engine runs: the scenario that it opens with, drawn when the page is made.
const (
	firstScenario = "gc-pause"
	firstSeed     = 1
	firstWidth    = 860 // of the plot, in pixels
)

// own is the script of the first picture: an address that names another experiment has no use for it.
const own = `if (location.hash.length > 1) document.documentElement.classList.add("elsewhere");`

// first is what the page shows first.
type first struct {
	Title, Outcome, Broke, Scenario, Variant, Summary string
	Seed                                              uint64
	Drawing                                           template.HTML
}

// forScripts are attributes that only a script reads, and nothing moves this picture.
var forScripts = regexp.MustCompile(` data-[a-z]+="[^"]*"`)

func firstPicture() (*first, error) {
	offer, err := engine.Offer()
	if err != nil {
		return nil, err
	}
	for _, s := range offer.Scenarios {
		if s.Name != firstScenario {
			continue
		}
		a := engine.Play(context.Background(), engine.Experiment{YAML: s.YAML, Seed: firstSeed, ID: "first", Width: firstWidth})
		if a.Drawing == nil || a.Telling == nil {
			return nil, errors.New("the first picture could not be drawn: " + a.Error)
		}
		var bad []string
		for _, c := range a.Telling.Chips {
			if c.Class == "unsafe" {
				bad = append(bad, c.Property)
			}
		}
		still := forScripts.ReplaceAllString(a.Drawing.HTML, "") // the engine's HTML is escaped
		return &first{Title: a.Title, Outcome: "Violated: " + strings.Join(bad, ", "), Broke: a.Telling.At + ": " + a.Telling.Broke,
			Scenario: s.Name, Variant: a.Variant, Summary: a.Drawing.Summary, Seed: firstSeed,
			Drawing: template.HTML(still)}, nil
	}
	return nil, errors.New("there is no scenario " + firstScenario)
}
