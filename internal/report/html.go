//go:build !js

package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

//go:embed page/*.tmpl page/*.css page/*.js
var pages embed.FS

// WriteHTML writes r as one file that needs nothing else: no network, and no
// script to be complete. What a variant's History lacks is missing from the
// page, never the page itself. The same result gives the same bytes.
func WriteHTML(w io.Writer, r *Result) error {
	return render(w, "report.tmpl", newPage(r))
}

// assets are the style and the script of all pages, with the policy that
// allows just these two.
type assets struct {
	Style  template.CSS
	Script template.JS
	// Picture is the script of pictures.
	Picture template.JS
	// Policy is the content security policy: nothing from anywhere, and of
	// inline code only what has the hash of ours.
	Policy string
}

var theAssets = sync.OnceValue(func() assets {
	read := func(name string) string {
		data, err := pages.ReadFile("page/" + name)
		if err != nil {
			panic(err) // embedded: it is there or the program was not built
		}
		return string(data)
	}
	picturesOnly := pictureStyle()
	style, script, ofPictures := picturesOnly+read("style.css"), read("script.js"), picture.Script()
	return assets{
		Style: template.CSS(style), Script: template.JS(script), Picture: template.JS(ofPictures),
		Policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s %s; img-src data:; base-uri 'none'; form-action 'none'",
			sourceHash(style), sourceHash(script), sourceHash(ofPictures)),
	}
})

// Stylesheet is the style of all pages, for pages that are served beside them.
func Stylesheet() string { return string(theAssets().Style) }

func sourceHash(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var templates = sync.OnceValue(parsed)

func parsed() *template.Template {
	t := template.New("").Funcs(template.FuncMap{
		"assets": theAssets, "seconds": words.Seconds, "short": words.Duration, "count": words.GroupedCount, "grouped": words.Grouped, "missing": missingShards,
		"picture": func(p *picture.Picture) template.HTML { return template.HTML(p.Markup()) },
		"hatch":   func() template.HTML { return template.HTML(picture.Hatch()) },
		"legend":  func(p *page) template.HTML { return template.HTML(picture.Legend(p.HasLed, p.HasSentinels)) },
	})
	return template.Must(t.ParseFS(pages, "page/*.tmpl"))
}

// render executes a page as a whole before it writes: a page is written
// entirely or not at all.
func render(w io.Writer, name string, data any) error {
	return execute(w, templates(), name, data)
}

// WritePage renders a page that another package has the template of. The template may use those of
// frame.tmpl, and what the others may.
func WritePage(w io.Writer, tmpl string, data any) error {
	t, err := parsed().New("page").Parse(tmpl)
	if err != nil {
		return fmt.Errorf("failed to parse the template of a page: %w", err)
	}
	return execute(w, t, "page", data)
}

func execute(w io.Writer, t *template.Template, name string, data any) error {
	var buf bytes.Buffer
	if err := t.ExecuteTemplate(&buf, name, data); err != nil {
		return fmt.Errorf("failed to render %s: %w", name, err)
	}
	_, err := w.Write(plain.HTML(buf.Bytes()))
	return err
}

// Policy is the content security policy of the pages, for the header under
// which they are served.
func Policy() string { return theAssets().Policy }

// WriteRates writes a page with the rates as heat maps. Every cell has its
// number, so that colour only repeats it.
func WriteRates(w io.Writer, r Rates) error {
	p := ratesPage{Rates: r}
	for _, g := range r.Grids {
		p.Maps = append(p.Maps, g.heatMap())
	}
	return render(w, "rates.tmpl", p)
}

type ratesPage struct {
	Rates
	Maps []heatMap
}
