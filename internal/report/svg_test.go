package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

// A small picture is narrow enough to be read on a telephone, shows the overlap, and has no head: words beside it say what it is of.
func TestThumb(t *testing.T) {
	for name, r := range reporttest.All() {
		var whole, small bytes.Buffer
		wide, _, err := report.WriteSVG(&whole, r, "")
		narrow, _, other := report.WriteThumb(&small, r, "")
		if (err == nil) != (other == nil) {
			t.Errorf("%s: %v, but small: %v", name, err, other)
		}
		if err != nil {
			continue
		}
		if narrow > 560 || narrow >= wide {
			t.Errorf("%s: %d px, and %d px small", name, wide, narrow)
		}
		for d := xml.NewDecoder(&small); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "script" {
				t.Errorf("%s: a script", name)
			}
		}
	}
	var small bytes.Buffer
	if _, _, err := report.WriteThumb(&small, reporttest.GCPause(), ""); err != nil {
		t.Fatal(err)
	}
	if got := small.String(); !strings.Contains(got, "803 ms</text>") || strings.Contains(got, `class="heading"`) {
		t.Errorf("without the overlap, or with a head: %s", got)
	}
}
