package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// WriteSVG writes the picture of a variant as an SVG file that needs nothing else, for a README or a review;
// of an empty name, that of the first variant with a violation, or else of the first. It says what broke, and
// follows the reader's choice of light or dark. Its size, in pixels, is returned.
func WriteSVG(w io.Writer, r *Result, variant string) (width, height int, err error) {
	return writeSVG(w, r, variant, false)
}

// WriteThumb writes it small, for a place where words beside it say what it is of.
func WriteThumb(w io.Writer, r *Result, variant string) (width, height int, err error) {
	return writeSVG(w, r, variant, true)
}

func writeSVG(w io.Writer, r *Result, variant string, small bool) (width, height int, err error) {
	p := newPage(r)
	v, err := p.pictureOf(variant)
	if err != nil {
		return 0, 0, err
	}
	frame := picture.Alone{Heading: p.Heading, Cause: plain.Clip(v.outcomeWords(), 150), Style: page.PictureStyle(),
		Imported: r.Imported, Small: small}
	if len(r.Variants) > 1 {
		frame.Heading += ": " + v.Name
	}
	return v.Pic.WriteAlone(w, frame)
}

// pictureOf finds the variant whose picture is wanted.
func (p *resultPage) pictureOf(name string) (*variantView, error) {
	var first *variantView
	var names []string
	for i := range p.Views {
		v := &p.Views[i]
		names = append(names, v.Name)
		if name == "" && v.Pic != nil && v.Cause != nil {
			return v, nil
		}
		if name == "" && v.Pic != nil && first == nil {
			first = v
		}
		if name != "" && v.Name == name {
			if v.Pic == nil {
				return nil, fmt.Errorf("variant %q has no history to draw", name)
			}
			return v, nil
		}
	}
	if name != "" {
		return nil, fmt.Errorf("there is no variant %q; there is %s", name, words.List(names))
	}
	if first == nil {
		return nil, errors.New("the run has no history to draw")
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
	if len(v.Properties) == 0 {
		return "Nothing was judged"
	}
	if len(kept) == 0 {
		return "Undecided: " + v.Properties[0].Why
	}
	return "No violation of " + strings.Join(kept, ", ") + " was found in this run"
}
