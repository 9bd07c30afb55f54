package report

import (
	"bytes"
	"fmt"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"io"
	"regexp"
	"strings"
)

// Sizes of a picture that stands alone, in pixels.
const (
	aloneNames  = 104
	aloneMargin = 16
	aloneHead   = 66
	aloneFoot   = 44
	aloneNote   = 22
)

// maxAlone is how many shapes a picture has that stands alone: some 400 kB.
const maxAlone = 2000

// alone is a picture without a page.
type alone struct {
	Heading, Cause string
	// Note says what is not drawn.
	Note          string
	Pic           *picture
	Width, Height int
	Plot, Left    int
	Top, Foot     int
	Imported      bool
}

// NoteRow is the baseline of the note.
func (a alone) NoteRow() int { return a.Height - 14 }

// forPage are attributes that mean something on a page only.
var forPage = regexp.MustCompile(` (data-[a-z]+|id|href)="[^"]*"`)

// WriteSVG writes the picture of a variant as an SVG file that needs nothing else, for a README or a review;
// of an empty name, that of the first variant with a violation, or else of the first. It says what broke, and
// follows the reader's choice of light or dark. Its size, in pixels, is returned.
func WriteSVG(w io.Writer, r *Result, variant string) (width, height int, err error) {
	p := newPage(r)
	v, err := p.pictureOf(variant)
	if err != nil {
		return 0, 0, err
	}
	v.Pic.lay(maxAlone)
	a := alone{Heading: p.Heading, Pic: v.Pic, Plot: int(assumedPlotWidth), Left: aloneNames, Top: aloneHead, Imported: r.Imported}
	a.Width, a.Foot = a.Left+a.Plot+aloneMargin, a.Top+a.Pic.Height+aloneFoot-26
	a.Height = a.Top + a.Pic.Height + aloneFoot
	if len(r.Variants) > 1 {
		a.Heading += ": " + v.Name
	}
	a.Cause = plain.Clip(v.outcomeWords(), 150)
	if note := v.Pic.Thinned; note != "" {
		a.Note, a.Height = sentence(note)+" The report draws all.", a.Height+aloneNote
	}
	var m markup
	m.alone(&a)
	_, err = w.Write(forPage.ReplaceAllFunc(plain.HTML(m.Bytes()), func(attribute []byte) []byte {
		if bytes.HasPrefix(attribute, []byte(` id="hatch"`)) {
			return attribute
		}
		return nil
	}))
	return a.Width, a.Height, err
}

// pictureOf finds the variant whose picture is wanted.
func (p *page) pictureOf(name string) (*variantView, error) {
	var first *variantView
	var names []string
	for i := range p.Views {
		v := &p.Views[i]
		names = append(names, v.Name)
		switch {
		case name != "" && v.Name != name:
		case v.Pic == nil:
			if name != "" {
				return nil, fmt.Errorf("variant %q has no history to draw", name)
			}
		case name != "" || v.Cause != nil:
			return v, nil
		case first == nil:
			first = v
		}
	}
	switch {
	case name != "":
		return nil, fmt.Errorf("there is no variant %q; there is %s", name, and(names))
	case first == nil:
		return nil, fmt.Errorf("the run has no history to draw")
	}
	return first, nil
}

// outcomeWords say in a line what broke, or that nothing did.
func (v *variantView) outcomeWords() string {
	if c := v.Cause; c != nil {
		text := fmt.Sprintf("%s violated: %s", c.Property, c.Broke)
		if c.Assumption != "" {
			text += ". Failed assumption: " + c.Assumption
		}
		return text
	}
	var kept []string
	for i := range v.Properties {
		if decided(v.Properties[i].Verdict) {
			kept = append(kept, string(v.Properties[i].Name))
		}
	}
	switch {
	case len(v.Properties) == 0:
		return "Nothing was judged"
	case len(kept) == 0:
		return "Undecided: " + v.Properties[0].Why
	}
	return "No violation of " + strings.Join(kept, ", ") + " was found in this run"
}

// alone writes a picture that needs no page.
func (m *markup) alone(a *alone) {
	m.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s. %s. %s">`+"\n<style>",
		a.Width, a.Height, a.Width, a.Height, a.Heading, a.Cause, a.Pic.Summary)
	m.raw(pictureStyle())
	m.add("</style>\n<defs>")
	m.hatch()
	m.add("</defs>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n")
	m.add(`<g class="alone"><text class="heading" x="12" y="26">%s</text><text x="12" y="48">%s</text></g>`+"\n", a.Heading, a.Cause)
	m.add(`<svg x="%d" y="%d" width="%d" height="%d" overflow="visible">`, a.Left, a.Top, a.Plot, a.Pic.Height)
	m.picture(a.Pic)
	m.add("</svg>\n")
	if !a.Imported {
		m.add(`<g class="alone key-line" transform="translate(%d %d)">`, a.Left, a.Foot)
		m.raw(`
<rect class="l-belief" width="22" height="11"/><text x="28" y="10">believes it holds the lock</text>
<rect x="188" width="22" height="11" fill="url(#hatch)" class="l-gap"/><text x="216" y="10">… without a majority of keys</text>
<rect class="l-truth" x="396" y="2" width="22" height="7"/><text x="424" y="10">has the keys</text>
<line class="l-promise" x1="514" x2="514" y2="12"/><text x="522" y="10">promise ends</text>
<rect class="l-band" x="612" width="22" height="11"/><text x="640" y="10">fault</text>
<circle class="l-write" cx="688" cy="6" r="5.5"/><text x="700" y="10">write applied</text>
<circle class="l-late" cx="796" cy="6" r="5.5"/><text x="808" y="10">applied too late</text>
</g>`)
	}
	if a.Note != "" {
		m.add(`<g class="alone key-line"><text x="12" y="%d">%s</text></g>`, a.NoteRow(), a.Note)
	}
	m.raw("</svg>\n")
}
