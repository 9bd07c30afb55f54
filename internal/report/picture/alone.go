package picture

import (
	"bytes"
	"io"
	"regexp"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Sizes of a picture that stands alone, in pixels.
const (
	aloneNames  = 104
	aloneMargin = 16
	aloneHead   = 66
	aloneFoot   = 44
	aloneNote   = 22
	// thumbPlot is how wide the plot of a small picture is: it can still be read on a telephone.
	thumbPlot, thumbHead, thumbFoot, thumbMargin = 400, 20, 10, 32
)

// maxAlone is how many shapes a picture has that stands alone: some 400 kB.
const maxAlone = 2000

// Alone is what stands around a picture without a page.
type Alone struct {
	// Heading heads it, and Cause says in a line what broke.
	Heading, Cause string
	// Style has the colours and the style of pictures.
	Style string
	// Small: it stands beside words that say what it is of. It has no head and no legend, and is narrower.
	Small bool
	// Imported: another tool recorded the history.
	Imported bool
}

// forPage are attributes that mean something on a page only.
var forPage = regexp.MustCompile(` (data-[a-z]+|id|href)="[^"]*"`)

// WriteAlone writes the picture as an SVG file that needs nothing else. Its size, in pixels, is returned.
func (p *Picture) WriteAlone(w io.Writer, a Alone) (width, height int, err error) {
	head, foot, margin := aloneHead, aloneFoot, aloneMargin
	if a.Small {
		p.plot, head, foot, margin = thumbPlot, thumbHead, thumbFoot, thumbMargin
		for i := range p.Ticks {
			if t := &p.Ticks[i]; t.End { // to the left of its tick it would stand over the one before it
				t.Text = ""
			}
		}
	}
	p.layOut(maxAlone)
	width, height = aloneNames+int(p.plot)+margin, head+p.Height+foot
	if p.Thinned != "" && !a.Small {
		height += aloneNote
	}
	var m markup
	m.alone(p, a, width, height)
	_, err = w.Write(forPage.ReplaceAllFunc(plain.HTML(m.Bytes()), func(attribute []byte) []byte {
		if bytes.HasPrefix(attribute, []byte(` id="hatch"`)) {
			return attribute
		}
		return nil
	}))
	return width, height, err
}

// alone writes a picture that needs no page.
func (m *markup) alone(p *Picture, a Alone, width, height int) {
	m.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s. %s. %s">`+"\n<style>",
		width, height, width, height, a.Heading, a.Cause, p.Summary)
	m.raw(a.Style)
	m.add("</style>\n<defs>")
	m.hatch()
	m.add("</defs>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n")
	head := thumbHead
	if !a.Small {
		head = aloneHead
		m.add(`<g class="alone"><text class="heading" x="12" y="26">%s</text><text x="12" y="48">%s</text></g>`+"\n", a.Heading, a.Cause)
	}
	m.add(`<svg x="%d" y="%d" width="%d" height="%d" overflow="visible">`, aloneNames, head, int(p.plot), p.Height)
	m.picture(p)
	m.add("</svg>\n")
	if a.Small {
		m.add("</svg>\n")
		return
	}
	if !a.Imported {
		m.add(`<g class="alone key-line" transform="translate(%d %d)">`, aloneNames, aloneHead+p.Height+aloneFoot-26)
		m.raw(`
<rect class="l-belief" width="20" height="11"/><text x="26" y="10">believes it holds the lock</text>
<rect x="182" width="20" height="11" fill="url(#hatch)" class="l-gap"/><text x="208" y="10">… without keys</text>
<rect class="l-truth" x="314" y="2" width="20" height="7"/><text x="340" y="10">has the keys</text>
<g class="key"><rect x="430" width="20" height="11"/></g><g class="key odd"><rect x="455" width="20" height="11"/></g>
<text x="481" y="10">keys on nodes</text>
<line class="l-promise" x1="586" x2="586" y2="12"/><text x="593" y="10">promise ends</text>
<rect class="l-band" x="688" width="20" height="11"/><text x="714" y="10">fault</text>
<circle class="l-write" cx="766" cy="6" r="5.5"/><text x="776" y="10">write applied</text>
<circle class="l-late" cx="874" cy="6" r="5.5"/><text x="884" y="10">applied too late</text>
</g>`)
	}
	if p.Thinned != "" {
		m.add(`<g class="alone key-line"><text x="12" y="%d">%s The report draws all.</text></g>`, height-14, words.Sentence(p.Thinned))
	}
	m.raw("</svg>\n")
}
