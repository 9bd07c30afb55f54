package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/edn"
)

// Made is a history of a corpus with its files.
type Made struct {
	Entry
	// Texts are the files by their paths.
	Texts map[string][]byte
	h     *history.History
	// said are the verdicts by definition, once they are known.
	said map[checker.Property]checker.Verdict
}

// Run is a run to be labelled.
type Run struct {
	ID          string
	Source      Source
	History     *history.History
	Origin      Origin
	GrantWithin int64
	// Expected are the verdicts that the scenario promises of every run; they count if it is as it is shipped.
	Expected map[checker.Property]checker.Verdict
}

// OfRun labels a run.
func OfRun(ctx context.Context, r Run) (*Made, error) {
	m := &Made{h: r.History, Entry: Entry{ID: r.ID, Source: r.Source, Origin: r.Origin, GrantWithin: r.GrantWithin}}
	m.Origin.Faults = faultsOf(r.History)
	// A violation that the scenario expects shows in some runs, and need not in each: only what must hold in every run is known.
	return m, m.finish(ctx, ByScenario, func(p checker.Property) checker.Verdict {
		if r.Origin.AsIs && r.Expected[p] == checker.Holds && m.definition(p) != checker.Unknown {
			return checker.Holds
		}
		if r.Origin.AsIs && r.Expected[p] == checker.Violated && m.definition(p) == checker.Violated {
			return checker.Violated
		}
		return 0
	})
}

// definition is what the definitions say of a property of the history.
func (m *Made) definition(p checker.Property) checker.Verdict {
	if m.said == nil {
		m.said = byDefinition(m.h, m.options())
	}
	return m.said[p]
}

// finish labels the history and writes its files.
func (m *Made) finish(ctx context.Context, ground string, made expected) error {
	m.Events = len(m.h.Events)
	if err := m.label(ctx, ground, made); err != nil {
		return err
	}
	operations, err := textOf(m.h, "edn")
	if err != nil {
		return err
	}
	if err := m.labelModels(ctx, m.h, operations); err != nil {
		return err
	}
	jsonl, err := textOf(m.h, "jsonl")
	if err != nil {
		return err
	}
	m.Texts = map[string][]byte{m.path("jsonl"): jsonl, m.path("edn"): operations}
	m.JSONL, m.EDN = fileOf(m.path("jsonl"), jsonl), fileOf(m.path("edn"), operations)
	m.sumUp()
	m.Reason = m.reason()
	return nil
}

func fileOf(path string, text []byte) *File {
	sum := sha256.Sum256(text)
	return &File{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}
}

// reason says in one line what is wrong with the history, or that nothing is.
func (m *Made) reason() string {
	if m.Damage != nil {
		return "damage: " + m.Damage.What
	}
	if m.Verdict != violated {
		return "no property is violated"
	}
	text := ""
	if len(m.Origin.Mistakes) > 0 {
		text = fmt.Sprintf("the lock makes a mistake (%s)", m.Origin.Mistakes[0])
		for _, more := range m.Origin.Mistakes[1:] {
			text = fmt.Sprintf("%s, and another (%s)", text, more)
		}
	}
	if n := len(m.Origin.Faults); n > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("faults struck (%s", m.Origin.Faults[0].Fault)
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		text += ")"
	}
	if text == "" {
		text = "the lock " + m.Origin.Lock + " does not promise it"
	}
	return text
}

// DamageWith damages a copy of a history in which nothing is violated. nil: the damage has no place there, or does not do what it says.
func (m *Made) DamageWith(ctx context.Context, kind string, r *rand.Rand, id string) (*Made, error) {
	if m.Verdict == violated || m.Refused != "" || m.Damage != nil {
		return nil, nil
	}
	for _, d := range damages() {
		if d.kind != kind {
			continue
		}
		out := &Made{h: copyOf(m.h), Entry: Entry{ID: id, Source: Damaged, Origin: m.Origin, GrantWithin: m.GrantWithin,
			Damage: &Damage{Kind: kind, Property: d.property, Of: m.ID}}}
		if d.text != nil {
			return out.damageText(d, r)
		}
		if out.Damage.What = d.change(r, out.h); out.Damage.What == "" {
			return nil, nil
		}
		if !out.didWhatItSays(m, d) {
			return nil, nil
		}
		return out, out.finish(ctx, ByDamage, out.knownFrom(m, d))
	}
	return nil, fmt.Errorf("no damage %q", kind)
}

// didWhatItSays reports that the damage broke its property by the definition of the property, or that one which breaks none broke none.
func (m *Made) didWhatItSays(of *Made, d damage) bool {
	if d.property != "" {
		return m.definition(d.property) == checker.Violated && of.definition(d.property) == checker.Holds
	}
	undecided := false
	for _, p := range checker.Properties() {
		v := m.definition(p)
		if v == checker.Violated {
			return false
		}
		undecided = undecided || v == checker.Unknown && of.definition(p) == checker.Holds
	}
	return undecided
}

// knownFrom is what the damage alone says: its property is violated; and without the end of the run nothing holds any more.
func (m *Made) knownFrom(of *Made, d damage) expected {
	return func(p checker.Property) checker.Verdict {
		switch {
		case d.property != "" && p == d.property:
			return checker.Violated
		case d.kind == "end-dropped" && of.definition(p) == checker.Holds:
			return checker.Unknown
		}
		return 0
	}
}

// damageText damages the JSON Lines so that a reader must refuse them, and the EDN where the same makes that none: it has no numbers to
// miss and no header, and its times may be anything.
func (m *Made) damageText(d damage, r *rand.Rand) (*Made, error) {
	text, what, err := m.damagedText(d, r, "jsonl")
	if what == "" || err != nil {
		return nil, err
	}
	if _, err = history.Decode(bytes.NewReader(text), MostEvents); err == nil {
		return nil, nil
	}
	m.Damage.What, m.Refused, m.Events = what, err.Error(), bytes.Count(text, []byte("\n"))-1
	m.Texts = map[string][]byte{m.path("jsonl"): text}
	m.JSONL = fileOf(m.path("jsonl"), text)
	if d.ofEDN {
		text, what, err := m.damagedText(d, r, "edn")
		if what == "" || err != nil || readsEDN(text) == nil {
			return nil, err
		}
		m.Damage.What += "; in the EDN " + what
		m.Texts[m.path("edn")], m.EDN = text, fileOf(m.path("edn"), text)
	}
	m.sumUp()
	m.Reason = m.reason()
	return m, nil
}

// damagedText is the damaged text of a form; what is empty where the damage has no place.
func (m *Made) damagedText(d damage, r *rand.Rand, form string) (text []byte, what string, err error) {
	if text, err = textOf(m.h, form); err != nil {
		return nil, "", err
	}
	lines, what := d.text(r, bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")))
	return append(bytes.Join(lines, []byte("\n")), '\n'), what, nil
}

// readsEDN says why a text is no history as EDN; nil: it is one.
func readsEDN(text []byte) error {
	return edn.Read(bytes.NewReader(text), 0, func(int, *history.Event) error { return nil })
}
