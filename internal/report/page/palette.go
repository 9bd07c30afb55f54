package page

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/picture"
)

// ink is a colour by name, on the light ground and on the dark one. Every ink
// is measured at 4.5:1 or better against its grounds: a test computes it.
type ink struct{ name, light, dark string }

// palette holds the colours of all pages. What a colour says is always said by
// a word or a shape too.
var palette = []ink{
	{"text", "#1b2128", "#e8edf2"},
	{"quiet", "#57616c", "#9aa7b4"},
	{"held", "#0b5cad", "#6cb6ff"},
	{"belief", "#c2410c", "#ff9e64"},
	{"key", "#6d4c9f", "#c4a7f5"},
	{"fault", "#6b7280", "#9aa7b4"},
	{"unsafe", "#b3261e", "#ff8b82"},
	{"safe", "#0b6e4f", "#4cc38a"},
	{"undecided", "#8a5a00", "#e3b341"},
}

// grounds are what the inks stand on, and lines the hairlines between them.
var (
	grounds = []ink{{"ground", "#ffffff", "#0f1419"}}
	lines   = []ink{{"line", "#dfe3e8", "#2a323c"}, {"wash", "#f6f7f9", "#171d24"}}
)

// paletteCSS declares the colours as custom properties. Paper is always light.
func paletteCSS() string {
	var light, dark strings.Builder
	for _, list := range [][]ink{grounds, lines, palette} {
		for _, c := range list {
			fmt.Fprintf(&light, "--%s:%s;", c.name, c.light)
			fmt.Fprintf(&dark, "--%s:%s;", c.name, c.dark)
		}
	}
	return fmt.Sprintf(":root{color-scheme:light dark;%s}\n"+
		"@media screen and (prefers-color-scheme:dark){:root{%s}}\n@media print{:root{color-scheme:light}}\n",
		light.String(), dark.String())
}

// PictureStyle is the style of pictures alone.
func PictureStyle() string { return paletteCSS() + picture.CSS() }
