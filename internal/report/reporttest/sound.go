package reporttest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Sound fails where a page is hard to use for somebody who hears it, who has no mouse, or on whose screen it must not jump: a control
// or a table without a name, an image without a text or a size, headings out of order, a link that leads nowhere on the page.
func Sound(t testing.TB, name string, doc []byte) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	p := sound{t: t, page: name, ids: make(map[string]bool)}
	for n := range root.Descendants() {
		if id, ok := attribute(n, "id"); ok && n.Type == html.ElementNode {
			if p.ids[id] {
				t.Errorf("%s: two elements have the id %q", name, id)
			}
			p.ids[id] = true
		}
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			p.element(n)
		}
	}
	if p.titles != 1 || p.level1 != 1 {
		t.Errorf("%s: %d titles and %d first headings, want one of each", name, p.titles, p.level1)
	}
}

type sound struct {
	t      testing.TB
	page   string
	ids    map[string]bool
	titles int
	// linked: a link came before. A page with a nav begins with one that skips it.
	linked, skips bool
	// level is that of the heading before, level1 how many there are of the first.
	level, level1 int
}

func (p *sound) element(n *html.Node) {
	switch n.Data {
	case "html":
		p.wants(n, "lang")
	case "title":
		if n.Parent.Data == "head" && spoken(n) != "" {
			p.titles++
		}
	case "a":
		p.link(n)
	case "button", "summary":
		if spoken(n) == "" {
			p.t.Errorf("%s: a %s has no name", p.page, n.Data)
		}
	case "nav":
		p.wants(n, "aria-label")
		if !p.skips {
			p.t.Errorf("%s: no link skips what comes before the content", p.page)
		}
	case "table":
		if !p.named(n) {
			p.t.Errorf("%s: a table has no name: %s", p.page, spoken(n)[:min(len(spoken(n)), 60)])
		}
	case "input", "select", "textarea":
		if kind, _ := attribute(n, "type"); kind != "hidden" {
			p.control(n)
		}
	case "img":
		p.wants(n, "alt")
		p.wants(n, "width")
		p.wants(n, "height")
	case "h1", "h2", "h3", "h4":
		level := int(n.Data[1] - '0')
		if level > p.level+1 {
			p.t.Errorf("%s: the heading %q is of level %d, below one of level %d", p.page, spoken(n), level, p.level)
		}
		if p.level = level; level == 1 {
			p.level1++
		}
	}
	if index, ok := attribute(n, "tabindex"); ok && index != "0" && index != "-1" {
		p.t.Errorf("%s: a tabindex of %s takes the keyboard out of order", p.page, index)
	}
	if style, ok := attribute(n, "style"); ok {
		p.t.Errorf("%s: a style %q that the policy forbids", p.page, style)
	}
}

// link: a link has a name, and leads somewhere.
func (p *sound) link(n *html.Node) {
	href, linked := attribute(n, "href")
	if class, _ := attribute(n, "class"); linked && !p.linked {
		p.linked, p.skips = true, class == "skip"
	}
	if linked && spoken(n) == "" {
		p.t.Errorf("%s: a link to %q has no name", p.page, href)
	}
	if id, local := strings.CutPrefix(href, "#"); linked && local && !p.ids[id] {
		p.t.Errorf("%s: the link %q leads nowhere", p.page, href)
	}
}

// control: an input has a label around it, one that names it, or a name of its own.
func (p *sound) control(n *html.Node) {
	id, _ := attribute(n, "id")
	own, _ := attribute(n, "aria-label")
	for at := n.Parent; at != nil; at = at.Parent {
		if at.Data == "label" {
			return
		}
		if at.Parent == nil && id != "" {
			for l := range at.Descendants() {
				if f, _ := attribute(l, "for"); l.Data == "label" && f == id {
					return
				}
			}
		}
	}
	if own == "" {
		p.t.Errorf("%s: a field %v has no label", p.page, n.Attr)
	}
}

// named: it has a caption, a label of its own, or elements that label it.
func (p *sound) named(n *html.Node) bool {
	for c := range n.ChildNodes() {
		if c.Data == "caption" && spoken(c) != "" {
			return true
		}
	}
	label, _ := attribute(n, "aria-label")
	by, _ := attribute(n, "aria-labelledby")
	missing := func(id string) bool { return !p.ids[id] }
	return strings.TrimSpace(label) != "" || by != "" && !slices.ContainsFunc(strings.Fields(by), missing)
}

func (p *sound) wants(n *html.Node, key string) {
	if value, ok := attribute(n, key); !ok || value == "" && key != "alt" {
		p.t.Errorf("%s: <%s> has no %s", p.page, n.Data, key)
	}
}

// spoken is what a screen reader says of an element: its label, or the texts and images in it that are not hidden from it.
func spoken(n *html.Node) string {
	if label, ok := attribute(n, "aria-label"); ok {
		return label
	}
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data)
	}
	if hidden, _ := attribute(n, "aria-hidden"); hidden == "true" {
		return ""
	}
	if alt, ok := attribute(n, "alt"); ok {
		return alt
	}
	var parts []string
	for c := range n.ChildNodes() {
		parts = append(parts, spoken(c))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func attribute(n *html.Node, key string) (string, bool) {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	if i < 0 {
		return "", false
	}
	return n.Attr[i].Val, true
}
