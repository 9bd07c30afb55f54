package main

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/redlock-sim/redlock-sim/docs"
)

// repository is where files are that are no pages of the site.
const repository = "https://github.com/redlock-sim/redlock-sim/blob/main/"

var converter = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// document is a page of Markdown.
type document struct {
	Title string
	// Lead is its first paragraph, as plain text.
	Lead string
	HTML template.HTML
	// Text is what is below its heading, as it is in the file.
	Text string
	// Contents are its headings of the second level, where there are so many that a reader wants to see them first.
	Contents []section
}

// section is a heading with its anchor.
type section struct{ ID, Text string }

// leastContents is from how many headings on a page begins with a list of them.
const leastContents = 4

// contentsOf lists the headings of the second level.
func contentsOf(tree ast.Node, source []byte) (list []section) {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Level != 2 {
			continue
		}
		if id, ok := h.AttributeString("id"); ok {
			list = append(list, section{fmt.Sprintf("%s", id), plain(h, source)})
		}
	}
	if len(list) < leastContents {
		return nil
	}
	return list
}

// convert reads a file of Markdown of the repository, for a page of the site. Its heading becomes the title.
func (s *site) convert(file, target string) (*document, error) {
	source, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	tree := converter.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(newIDs()))))
	d := &document{}
	heading, ok := tree.FirstChild().(*ast.Heading)
	if !ok || heading.Level != 1 {
		return nil, fmt.Errorf("%s: want a heading first", file)
	}
	d.Title = plain(heading, source)
	_, d.Text, _ = strings.Cut(string(source), "\n")
	tree.RemoveChild(tree, heading)
	first := tree.FirstChild()
	if _, translated := docs.Original(file); translated && first != nil { // it begins with a line about its version
		first = first.NextSibling()
	}
	if first, ok := first.(*ast.Paragraph); ok {
		d.Lead = plain(first, source)
	}
	d.Contents = contentsOf(tree, source)
	s.replaceFigures(tree, source, target)
	labelCells(tree, source)
	if err := s.redirect(tree, source, file, target); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := converter.Renderer().Render(&b, source, tree); err != nil {
		return nil, err
	}
	d.HTML = template.HTML(wrapTables(b.String())) // goldmark leaves out the HTML of a file
	return d, nil
}

// inline is a text of a scenario, in paragraphs.
func (s *site) inline(source string) (template.HTML, error) {
	var b bytes.Buffer
	err := converter.Convert([]byte(html.EscapeString(source)), &b)
	return template.HTML(b.String()), err // escaped
}

// plain is the text of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// redirect makes links between files of the repository lead to the pages that are made from them, and lets lines break
// where a cell of a table says so.
func (s *site) redirect(tree ast.Node, source []byte, file, target string) error {
	var breaks []*ast.RawHTML
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.destination(string(n.Destination), file, target))
		case *ast.Image:
			n.Destination = []byte(s.destination(string(n.Destination), file, target))
		case *ast.RawHTML: // no other HTML passes
			if string(n.Segments.Value(source)) == "<br>" {
				breaks = append(breaks, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range breaks {
		n.Parent().ReplaceChild(n.Parent(), n, written("<br>"))
	}
	return err
}

// written is HTML of ours.
func written(text string) *ast.String {
	n := ast.NewString([]byte(text))
	n.SetCode(true) // it is written as it is
	return n
}

func (s *site) destination(to, file, target string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Path == "" {
		return to
	}
	found := path.Join(path.Dir(file), u.Path)
	u.Path = s.pageOf(found)
	if strings.HasPrefix(u.Path, repository) {
		return u.Path
	}
	u.Path = link(target, u.Path)
	return u.String()
}

var madeFrom = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^README\.md$`), "docs/readme.html"},
	{regexp.MustCompile(`^docs(/README\.md)?$`), "docs/index.html"},
	{regexp.MustCompile(`^README\.zh\.md$`), "zh/readme.html"},
	{regexp.MustCompile(`^docs/zh(/README\.md)?$`), chineseIndex},
	{regexp.MustCompile(`^docs/zh/(guide|reference)/([a-z-]+)\.md$`), "zh/$1/$2.html"},
	{regexp.MustCompile(`^docs/(guide|reference|internals)/([a-z-]+)\.md$`), "$1/$2.html"},
	{regexp.MustCompile(`^docs/findings(/README\.md)?$`), "findings/index.html"},
	{regexp.MustCompile(`^docs/findings/([a-z0-9-]+)\.md$`), "findings/$1.html"},
	{regexp.MustCompile(`^docs/([a-z-]+)\.md$`), "docs/$1.html"},
	{regexp.MustCompile(`^docs/images/([a-z0-9-]+\.(?:svg|png))$`), "images/$1"},
	{regexp.MustCompile(`^scenarios/([a-z0-9-]+)\.yaml$`), "scenarios/$1.html"},
	{regexp.MustCompile(`^scenarios(/README\.md)?$`), "scenarios/index.html"},
	{regexp.MustCompile(`^adapters/README\.md$`), "docs/adapters.html"},
	{regexp.MustCompile(`^(CONTRIBUTING|CHANGELOG|SECURITY|CODE_OF_CONDUCT)\.md$`), "docs/$1.html"},
}

// pageOf is the page that is made from a file of the repository, or the file itself, where it is kept.
func (*site) pageOf(file string) string {
	for _, m := range madeFrom {
		if m.form.MatchString(file) {
			return strings.ToLower(m.form.ReplaceAllString(file, m.to))
		}
	}
	return repository + file
}

// labelCells writes into each cell of a table which column it belongs to: on a phone the cells of a row follow one another.
func labelCells(tree ast.Node, source []byte) {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != extast.KindTable {
			continue
		}
		var head []string
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			i := 0
			for c := row.FirstChild(); c != nil; c = c.NextSibling() {
				if row.Kind() == extast.KindTableHeader {
					head = append(head, plain(c, source))
				} else if c.ChildCount() > 0 && i < len(head) {
					c.SetAttributeString("data-label", []byte(head[i]))
				}
				i++
			}
		}
	}
}

// replaceFigures puts a picture in the place of a paragraph that has nothing but a link to a scenario.
func (s *site) replaceFigures(tree ast.Node, source []byte, target string) {
	for n := tree.FirstChild(); n != nil; {
		next := n.NextSibling()
		if l, ok := onlyChild(n).(*ast.Link); ok {
			name, variant, _ := strings.Cut(plain(l, source), ", ")
			if picture := s.figure(name, variant, target); picture != "" {
				p := ast.NewTextBlock()
				p.AppendChild(p, written(string(picture)))
				tree.ReplaceChild(tree, n, p)
			}
		}
		n = next
	}
}

func onlyChild(n ast.Node) ast.Node {
	if n.Kind() != ast.KindParagraph || n.ChildCount() != 1 {
		return nil
	}
	return n.FirstChild()
}

// figure is the picture of a variant, empty if there is no such scenario.
func (s *site) figure(name, variant, target string) template.HTML {
	sc := s.scenario(name)
	if sc == nil {
		return ""
	}
	v := sc.variant(variant)
	if v == nil {
		return ""
	}
	var b strings.Builder
	if err := s.tmpl.ExecuteTemplate(&b, "figure.tmpl", figure{sc, v, up(target), s.play}); err != nil {
		return ""
	}
	return template.HTML(b.String()) // a template made it
}

var tables = regexp.MustCompile(`(?s)<table>.*?</table>`)

// wrapTables lets a wide table scroll by itself.
func wrapTables(text string) string {
	return tables.ReplaceAllString(text, `<div class="table" tabindex="0">$0</div>`)
}

var (
	tags   = regexp.MustCompile(`(?s)<(style|script)[^>]*>.*?</(style|script)>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// plainText is what a page says, without its marks.
func plainText(body string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(body, " ")), " "))
}

// ids makes the anchors of headings as GitHub does, so that links work in both places.
type ids struct{ used map[string]int }

func newIDs() *ids { return &ids{map[string]int{}} }

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Generate implements parser.IDs.
func (i *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(strings.ToLower(notInAnchors.ReplaceAllString(string(value), "")), " ", "-")
	n := i.used[id]
	i.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (i *ids) Put(value []byte) { i.used[util.BytesToReadOnlyString(value)]++ }
