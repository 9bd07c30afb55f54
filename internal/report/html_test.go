package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

func page(t *testing.T, r *report.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// With PAGES set to a folder, the pages of all fixtures are left there to be
// looked at.
func TestPagesToLookAt(t *testing.T) {
	dir := os.Getenv("PAGES")
	if dir == "" {
		t.Skip("PAGES names no folder")
	}
	all := reporttest.All()
	all["long"] = reporttest.Long(100_000)
	for name, r := range all {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), page(t, r), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
