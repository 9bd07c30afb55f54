package tab

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"

	"github.com/chromedp/chromedp"
)

// drawn waits until the pictures of the page show what they were told to.
const drawn = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`

// Drawn waits until the page has drawn what it was told to.
func (b *Tab) Drawn() {
	b.T.Helper()
	Eval[any](b, drawn)
}

// texts are the visible texts of all pictures, as functions that measure them need them.
const texts = `[...document.querySelectorAll("svg.picture text")].filter(el => {
	const style = getComputedStyle(el), box = el.getBoundingClientRect();
	return style.visibility === "visible" && box.width > 0 && box.height > 0;
})`

// Covered returns the labels of pictures that cover one another, or that stick out of their picture.
func (b *Tab) Covered() []string {
	b.T.Helper()
	return Eval[[]string](b, `(() => {
		const found = [];
		const boxes = `+texts+`.map(el => {
			const r = el.getBoundingClientRect(), p = el.closest("svg.picture").getBoundingClientRect();
			if (r.left < p.left - 1 || r.right > p.right + 1) found.push("sticks out: " + el.textContent);
			return { text: el.firstChild.textContent, l: r.left, r: r.right, t: r.top + 2, b: r.bottom - 2 };
		}).sort((x, y) => x.l - y.l);
		for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length && boxes[j].l < boxes[i].r - 1; j++) {
			const x = boxes[i], y = boxes[j];
			if (x.t < y.b && y.t < x.b) found.push(x.text + " | " + y.text);
		}
		return found;
	})()`)
}

// ink is a text of the page: where it is, and its colour.
type ink struct {
	Text       string
	Color      string
	X, Y, W, H float64
}

// Faint returns the texts of pictures within an element that stand out from their ground by less than the ratio, by
// day or by night, as pixels: where a text is drawn, its colour is set beside what is there without it.
func (b *Tab) Faint(element string, ratio float64) []string {
	b.T.Helper()
	var faint []string
	var mask image.Image
	for _, dark := range []bool{false, true} {
		b.Dark(dark)
		b.Drawn()
		inks := Eval[[]ink](b, fmt.Sprintf(`(() => {
			const root = document.querySelector(%q).getBoundingClientRect();
			return %s.map(el => {
				const r = el.getBoundingClientRect();
				return { Text: el.firstChild.textContent, Color: getComputedStyle(el).fill,
					X: r.left - root.left, Y: r.top - root.top, W: r.width, H: r.height };
			});
		})()`, element, texts))
		if mask == nil {
			mask = b.painted(element, "#ff00ff")
		}
		ground := b.painted(element, "transparent")
		for _, i := range inks {
			if got, ok := i.contrast(mask, ground); ok && got < ratio {
				faint = append(faint, fmt.Sprintf("%s, dark %v: %.2f:1", i.Text, dark, got))
			}
		}
	}
	return faint
}

// painted is an element with all texts of pictures in a colour.
func (b *Tab) painted(element, color string) image.Image {
	b.T.Helper()
	Eval[any](b, fmt.Sprintf(`(() => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync("svg text { fill: %s !important }");
		document.adoptedStyleSheets = [sheet];
		return %s;
	})()`, color, drawn))
	shot := Get(b, chromedp.ScreenshotScale(chromedp.CSS(element), 1))
	Eval[any](b, `document.adoptedStyleSheets = []`)
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		b.T.Fatal(err)
	}
	return picture
}

// contrast is that of a text to its ground: of the tenth part of its pixels that stands out least, the best.
func (i ink) contrast(mask, ground image.Image) (float64, bool) {
	var r, g, b float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(i.Color, ",", " "), "rgb(%f %f %f)", &r, &g, &b); err != nil {
		return 0, true
	}
	own := color.RGBA{uint8(r), uint8(g), uint8(b), 255}
	var ratios []float64
	for y := int(i.Y); y <= int(i.Y+i.H); y++ {
		for x := int(i.X); x <= int(i.X+i.W); x++ {
			if p := (image.Point{X: x, Y: y}); !p.In(mask.Bounds()) {
				continue
			}
			mr, mg, mb, _ := mask.At(x, y).RGBA()
			if mr < 0xf000 || mb < 0xf000 || mg > 0x1000 {
				continue
			}
			ratios = append(ratios, Contrast(own, ground.At(x, y)))
		}
	}
	if len(ratios) == 0 {
		return 0, false // so thin that no pixel has its colour alone
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/10], true
}

// Contrast is WCAG's ratio of two colours.
func Contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

func luminance(of color.Color) float64 {
	channel := func(c uint32) float64 {
		v := float64(c>>8) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	r, g, b, _ := of.RGBA()
	return 0.2126*channel(r) + 0.7152*channel(g) + 0.0722*channel(b)
}
