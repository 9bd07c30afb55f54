package picture

import (
	"bytes"
	"compress/flate"
	"encoding/base64"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// Packed is text as the script of a page reads it: deflated, and in base64.
func Packed(text []byte) string {
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

// pack keeps the shapes that are not drawn on the page for its script. Their times and events are those
// since the shape before.
func (p *Picture) pack() {
	p.Unit = 1000
	for p.Hi/p.Unit > 5_000_000 {
		p.Unit *= 10
	}
	lanes := make([][][]shape, len(p.Lanes))
	some := false
	for i, lane := range p.Lanes {
		lanes[i] = lane.split(true)
		for _, layer := range lanes[i] {
			at, event := int64(0), 0
			for j := range layer {
				s := &layer[j]
				if l := s.Label; l != nil && (l.A != s.A || l.B != s.B) {
					l.Offset, l.Length = (l.A-s.A)/p.Unit, max(1, (l.B-l.A)/p.Unit)
				}
				s.A, s.B = s.A/p.Unit, (s.B-s.A)/p.Unit
				s.A, at = s.A-at, s.A
				if s.Told {
					s.Event, event = s.Event-event, s.Event
				}
			}
			some = some || len(layer) > 0
		}
	}
	if !some {
		return
	}
	var m markup
	m.far(lanes)
	p.Far = Packed(plain.HTML(m.Bytes()))
}
