package picture

import (
	"bytes"
	"fmt"
	"strings"
)

// markup writes pictures. They are drawn far more often than pages are: in a browser whenever something changes, where
// the templates of the pages would also be more code than all the rest.
type markup struct{ bytes.Buffer }

// add writes a text with what the arguments say in it. All that is no number is escaped.
func (m *markup) add(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = escaper.Replace(s)
		}
	}
	fmt.Fprintf(m, format, args...)
}

// raw writes a text of ours as it is.
func (m *markup) raw(text string) { _, _ = m.WriteString(text) }

// escaper does to texts and attributes what package html/template does.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "\x00", "\uFFFD")

// Markup is the picture as SVG, for a page: what it does not know itself is escaped.
func (p *Picture) Markup() string { return written(func(m *markup) { m.picture(p) }) }

// Hatch is the pattern of hatched bars, for the definitions of a page.
func Hatch() string { return written((*markup).hatch) }

// Legend says what the marks of pictures mean.
func Legend(led, watched bool) string { return written(func(m *markup) { m.legend(led, watched) }) }

func written(write func(*markup)) string {
	var m markup
	write(&m)
	return m.String()
}

func (m *markup) picture(p *Picture) {
	class := "picture"
	if p.Class != "" {
		class += " " + p.Class
	}
	m.add(`<svg class="%s" id="%s-picture" width="100%%" height="%d" role="img" aria-labelledby="%s-name"`+
		` data-from="%d" data-to="%d" data-lo="%d" data-hi="%d"`,
		class, p.ID, p.Height, p.ID, p.From, p.To, p.Lo, p.Hi)
	if p.Far != "" {
		m.add(` data-far="`)
		m.raw(p.Far) // base64
		m.add(`" data-unit="%d"`, p.Unit)
	}
	m.add(">\n<g class=\"names\">")
	for _, l := range p.Lanes {
		m.names(l)
	}
	m.add("</g>\n<svg class=\"plot\" width=\"100%%\" height=\"100%%\">\n<g class=\"ticks\">")
	for _, t := range p.Ticks {
		where := ` x="3"`
		if t.End {
			where = ` class="end" x="-3"`
		}
		m.add(`<svg class="tick" x="%s%%" width="1"><line y1="20" y2="%d"/><text`, t.X, p.Height)
		m.raw(where)
		m.add(` y="12">%s</text></svg>`, t.Text)
	}
	m.add("</g>\n")
	for _, l := range p.Lanes {
		m.lane(l)
	}
	m.add("<svg class=\"cursor\" x=\"0%%\" width=\"1\" visibility=\"hidden\"><line y1=\"18\" y2=\"%d\"/></svg>\n</svg>\n</svg>", p.Height)
}

// quietClass marks lanes that the reader can hide.
func (l *lane) quietClass() string {
	if l.Quiet {
		return " quiet"
	}
	return ""
}

// names writes what stands before a lane.
func (m *markup) names(l *lane) {
	m.add(`<g class="lane-names %s%s"`, l.Kind, l.quietClass())
	if l.Anchor != "" {
		m.add(` id="%s"`, l.Anchor)
	}
	m.add(` data-y="%d" data-h="%d" transform="translate(0 %d)">`, l.Y, l.H, l.Y)
	if l.Name != "" {
		m.add(`<line class="rule" x1="-200" x2="100%%"/><a href="#%s"><text class="name" x="0" y="%d">%s<title>%s</title></text></a>`,
			l.Anchor, l.NameRow(), l.Short(), l.Name)
	}
	for _, s := range l.Subs {
		m.add(`<text class="sub" x="-8" y="%d">%s</text>`, s.Y, s.Text)
	}
	m.add("</g>\n")
}

func (m *markup) lane(l *lane) {
	m.add(`<g class="lane %s%s" data-y="%d" data-h="%d" transform="translate(0 %d)">`, l.Kind, l.quietClass(), l.Y, l.H, l.Y)
	if l.Kind == "resource" {
		m.add(`<line class="rail" x2="100%%" y1="24" y2="24"/>`)
	}
	for _, layer := range l.Layers() {
		m.layer(layer)
	}
	m.add("<g>")
	for _, label := range l.Labels() {
		m.label(&label)
	}
	m.add("</g></g>\n")
}

func (m *markup) layer(shapes []shape) {
	m.add("<g>")
	for i := range shapes {
		m.shape(&shapes[i])
	}
	m.add("</g>")
}

func (m *markup) shape(s *shape) {
	kind := "t"
	if !s.Wide() {
		kind += " pt"
	}
	if s.Away {
		kind += " away"
	}
	m.add(`<svg class="%s %s"`, kind, s.Class)
	if s.Step {
		m.add(` data-step="1"`)
	}
	if s.Told {
		m.add(` data-e="%d"`, s.Event)
	}
	m.add(` data-a="%d"`, s.A)
	if s.Wide() {
		m.add(` data-b="%d"`, s.B)
	}
	if s.X != "" {
		m.add(` x="%s%%"`, s.X)
	}
	if !s.Wide() {
		m.add(` width="1"`)
	} else if s.W != "" {
		m.add(` width="%s%%"`, s.W)
	}
	m.add(` y="%d" height="%d">`, s.Y, s.H)
	if s.Title != "" {
		m.add("<title>%s</title>", s.Tip())
	}
	m.form(s)
	if s.Far && s.Label != nil {
		m.label(s.Label)
	}
	m.add("</svg>")
}

// form is what is drawn of a shape.
func (m *markup) form(s *shape) {
	switch s.Kind {
	case "bar":
		m.add(`<rect width="100%%" height="100%%"/>`)
	case "hatch":
		m.add(`<rect width="100%%" height="100%%" fill="url(#hatch)"/>`)
	case "thread":
		m.add(`<line x2="100%%" y1="%d" y2="%d" transform="translate(0 -8)"/>`, s.H, s.H)
	case "line":
		m.add(`<line y2="%d"/>`, s.H)
	case "dot":
		radius := "6.5"
		if s.Class == "effect read" {
			radius = "3.5"
		}
		m.add(`<circle cy="24" r="%s"/>`, radius)
	case "ring":
		m.add(`<circle cy="24" r="6"/><path d="M-3 21 3 27M3 21-3 27"/>`)
	case "caret":
		m.add(`<path d="M-3.5 0 0 4.5 3.5 0Z"/>`)
	}
}

func (m *markup) label(l *label) {
	m.add(`<text class="lb %s`, l.Class)
	if l.End {
		m.add(" end")
	}
	if !l.Shown {
		m.add(" off")
	}
	m.add(`" data-rules="%s"`, l.Rules())
	if l.Shown {
		m.add(` x="%s%%" y="%d"`, l.X, l.Y)
	}
	if l.Near {
		m.add(` data-a="%d"`, l.A)
		if l.A != l.B {
			m.add(` data-b="%d"`, l.B)
		}
	} else if l.Length != 0 {
		m.add(` data-offset="%d" data-length="%d"`, l.Offset, l.Length)
	}
	m.add(">%s</text>", l.Text)
}

// far writes the shapes that are packed, by lanes and layers.
func (m *markup) far(lanes [][][]shape) {
	for _, layers := range lanes {
		m.add("<g>")
		for _, layer := range layers {
			m.layer(layer)
		}
		m.add("</g>")
	}
}

// hatch is the pattern of hatched bars, for the definitions of a page.
func (m *markup) hatch() {
	m.add(`<pattern id="hatch" patternUnits="userSpaceOnUse" width="7" height="7" patternTransform="rotate(45)">` +
		`<rect class="hatch-ground" width="7" height="7"/><rect class="hatch-line" width="3.2" height="7"/></pattern>`)
}

// legend says what the marks of a picture mean: of one that shows who served as the primary, and what sentinels or nodes saw.
func (m *markup) legend(led, watched bool) {
	keys := "a majority of nodes has its key"
	if led {
		keys = "the primary, or else a majority of nodes, has its key"
	}
	entries := [][2]string{
		{`<svg width="26" height="14" aria-hidden="true"><rect class="l-belief" width="26" height="14"/></svg>`, "believes it holds the lock"},
		{`<svg width="26" height="14" aria-hidden="true"><rect width="26" height="14" fill="url(#hatch)" class="l-gap"/></svg>`,
			"believes it holds the lock, but has no majority of keys"},
		{`<svg width="26" height="14" aria-hidden="true"><rect class="l-truth" y="4" width="26" height="7"/></svg>`, keys},
		{`<svg width="54" height="14" aria-hidden="true"><g class="key"><rect y="1" width="26" height="12"/></g>` +
			`<g class="key odd"><rect x="28" y="1" width="25" height="12"/></g></svg>`, "a client's key on a node, and the next one"},
		{`<svg width="14" height="14" aria-hidden="true"><line class="l-promise" x1="7" x2="7" y2="14"/></svg>`, "promised validity ends"},
		{`<svg width="26" height="14" aria-hidden="true"><rect class="l-band" width="26" height="14"/></svg>`, "fault"},
		{`<svg width="16" height="14" aria-hidden="true"><circle class="l-write" cx="8" cy="7" r="6"/></svg>`, "write applied"},
		{`<svg width="16" height="14" aria-hidden="true"><circle class="l-late" cx="8" cy="7" r="6"/></svg>`, "applied after the promise ended"},
		{`<svg width="16" height="14" aria-hidden="true"><circle class="l-ring" cx="8" cy="7" r="5.5"/>` +
			`<path class="l-ring" d="M5 4l6 6M11 4l-6 6"/></svg>`, "refused"},
		{`<svg width="26" height="14" aria-hidden="true"><rect class="l-overlap" x="1" y="1" width="24" height="12"/></svg>`,
			"too many holders at once"},
	}
	if led {
		entries = append(entries, [2]string{
			`<svg width="26" height="14" aria-hidden="true"><rect class="l-primary" y="6" width="26" height="3"/></svg>`,
			"serves as the primary",
		})
	}
	if watched {
		entries = append(entries,
			[2]string{`<svg width="26" height="14" aria-hidden="true"><rect class="l-sight" x="1" y="3" width="24" height="8"/></svg>`,
				"whom a sentinel, or a node of a cluster, takes for the primary"},
			[2]string{`<svg width="14" height="14" aria-hidden="true"><line class="l-deed" x1="7" x2="7" y1="3" y2="11"/></svg>`,
				"what it told of another one: a vote, a doubt, a switch"})
	}
	m.raw("<ul class=\"legend\" aria-label=\"Legend\">\n")
	for _, e := range entries {
		m.raw("<li>" + e[0] + " " + e[1] + "</li>\n")
	}
	m.raw("</ul>")
}
