package report_test

import (
	"io"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

func BenchmarkLongPage(b *testing.B) {
	r := reporttest.Long(100_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := report.WriteHTML(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}
