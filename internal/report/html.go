//go:build !js

package report

import (
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

//go:embed *.tmpl
var files embed.FS

var templates = page.Parse(files, template.FuncMap{
	"picture": func(p *picture.Picture) template.HTML { return template.HTML(p.Markup()) },
	"hatch":   func() template.HTML { return template.HTML(picture.Hatch()) },
	"scale":   heatScale,
	"count64": func(n uint64) string { return words.Count(n, "run") },
	"legend": func(p *resultPage) template.HTML {
		return template.HTML(picture.Legend(p.HasLed, p.HasWatched))
	},
})

// WriteHTML writes r as one file that needs nothing else: no network, and no
// script to be complete. What a variant's History lacks is missing from the
// page, never the page itself. The same result gives the same bytes.
func WriteHTML(w io.Writer, r *Result) error {
	return templates.Write(w, "report.tmpl", newPage(r))
}

// heatScale is the legend of a heat map.
func heatScale() (list []heatCell) {
	for share := 0; share <= 100; share += 25 {
		list = append(list, heatCell{HeatTile: HeatTile{Opacity: heatOpacity(float64(share) / 100), Text: fmt.Sprint(share)}})
	}
	return list
}

// WriteRates writes a page with the rates as heat maps. Every cell has its
// number, so that colour only repeats it.
func WriteRates(w io.Writer, r Rates) error {
	p := ratesPage{Rates: r}
	for _, g := range r.Grids {
		p.Maps = append(p.Maps, g.heatMap())
	}
	return templates.Write(w, "rates.tmpl", p)
}

type ratesPage struct {
	Rates
	Maps []heatMap
}

// PictureURL is the picture as an address: an image runs no script, and loads nothing.
func (f *FoundScenario) PictureURL() template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(f.Picture))
}
