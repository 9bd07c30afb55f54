package page

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

// contrast is that of two colours as a stylesheet has them.
func contrast(a, b string) float64 { return tab.Contrast(rgb(a), rgb(b)) }

func rgb(hex string) color.RGBA {
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		panic(err)
	}
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}
}

func TestContrast(t *testing.T) {
	if got := contrast("#000000", "#ffffff"); got < 20.99 || got > 21.01 {
		t.Fatalf("black on white is %.2f:1", got)
	}
	if got := contrast("#777777", "#ffffff"); got > 4.5 {
		t.Fatalf("#777 on white is %.2f:1, which is below 4.5", got)
	}
	for _, ink := range palette {
		for _, ground := range append(grounds, wash()) {
			if got := contrast(ink.light, ground.light); got < 4.5 {
				t.Errorf("%s on light %s: %.2f:1", ink.name, ground.name, got)
			}
			if got := contrast(ink.dark, ground.dark); got < 4.5 {
				t.Errorf("%s on dark %s: %.2f:1", ink.name, ground.name, got)
			}
		}
	}
}

func wash() ink {
	for _, l := range lines {
		if l.name == "wash" {
			return l
		}
	}
	panic("no wash")
}

// mixed is what a colour of some opacity gives on a ground.
func mixed(over, ground string, opacity float64) string {
	out := "#"
	for at := 1; at < 7; at += 2 {
		a, _ := strconv.ParseUint(over[at:at+2], 16, 8)
		b, _ := strconv.ParseUint(ground[at:at+2], 16, 8)
		out += fmt.Sprintf("%02x", uint8(float64(a)*opacity+float64(b)*(1-opacity)+0.5))
	}
	return out
}

// Labels stand on tinted shapes too; the opacities are the stylesheet's.
func TestContrastOnTints(t *testing.T) {
	inks := map[string]ink{}
	for _, i := range palette {
		inks[i.name] = i
	}
	style := string(theAssets().Style)
	for _, c := range []struct {
		label, tint string
		opacity     float64
		rule        string
	}{
		{"quiet", "fault", 0.17, "fill:var(--fault);fill-opacity:.17"},
		{"text", "key", 0.3, "fill:var(--key);fill-opacity:.3"},
		{"unsafe", "unsafe", 0.07, "fill:var(--unsafe);fill-opacity:.07"},
	} {
		if !strings.Contains(style, c.rule) {
			t.Errorf("the stylesheet has no %q any more", c.rule)
		}
		label, tint := inks[c.label], inks[c.tint]
		light := contrast(label.light, mixed(tint.light, grounds[0].light, c.opacity))
		dark := contrast(label.dark, mixed(tint.dark, grounds[0].dark, c.opacity))
		if light < 4.5 || dark < 4.5 {
			t.Errorf("%s on %s: %.2f:1 light, %.2f:1 dark", c.label, c.tint, light, dark)
		}
	}
}
