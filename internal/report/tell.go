package report

import "github.com/redlock-sim/redlock-sim/internal/words"

// Telling is what a page says of a variant beside its picture.
type Telling struct {
	Class string `json:"class"`
	Icon  string `json:"icon"`
	// Word is the outcome: are the verdicts the expected ones?
	Word  string        `json:"word"`
	Lead  string        `json:"lead"`
	Chips []VerdictLine `json:"chips"`
	// Broke says what broke, By which faults, Assumption what was assumed in vain.
	Broke      string      `json:"broke,omitempty"`
	At         string      `json:"at,omitempty"`
	Property   string      `json:"property,omitempty"`
	By         []string    `json:"by,omitempty"`
	Assumption string      `json:"assumption,omitempty"`
	Story      []StoryLine `json:"story,omitempty"`
	More       int         `json:"more,omitempty"`
}

// VerdictLine is the verdict on a property: its word, what was expected, why, and how hard it was tried.
type VerdictLine struct {
	Property string `json:"property"`
	Words    string `json:"words"`
	Verdict  string `json:"verdict"`
	Class    string `json:"class"`
	Icon     string `json:"icon"`
	Beside   string `json:"beside"`
	Why      string `json:"why"`
	Chances  string `json:"chances"`
	Loud     bool   `json:"loud,omitempty"`
}

// StoryLine is a sentence of the story.
type StoryLine struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

// Tell says what came of a variant.
func Tell(v *Variant) Telling {
	view := newVariantView(0, v)
	out := Telling{Class: view.Badge.Class, Icon: view.Badge.Icon, Word: view.Badge.Word, Lead: leadSentence([]*Variant{v})}
	for i, c := range view.Chips {
		p := &v.Properties[i]
		out.Chips = append(out.Chips, VerdictLine{
			Property: string(c.Name), Words: words.Sentence(c.Name.Title()), Verdict: c.Badge.Word, Class: c.Badge.Class,
			Icon: c.Badge.Icon, Beside: c.Beside, Why: p.Why, Chances: chances(p), Loud: c.Loud,
		})
	}
	if c := view.causeOf(v.Pictured()); c != nil {
		out.Broke, out.At, out.Property, out.By, out.Assumption = c.Broke, c.At, string(c.Property), c.Faults, c.Assumption
	}
	if lead := leadOf(v); lead != nil {
		s := view.storyOf(lead)
		for _, t := range s.Sentences {
			out.Story = append(out.Story, StoryLine{At: t.At, Text: t.Text})
		}
		out.More = s.More
	}
	return out
}
