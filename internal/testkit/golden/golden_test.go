package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder keeps what a test is told.
type recorder struct {
	testing.TB
	told string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Name() string                      { return "TestX" }
func (r *recorder) Errorf(format string, args ...any) { r.told += fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func compare(file, got string, anew bool) string {
	defer func(before bool) { *update = before }(*update)
	*update = anew
	r := &recorder{}
	Compare(r, file, got)
	return r.told
}

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.txt")
	if got := compare(file, "a\nb\n", true); got != "" {
		t.Errorf("writing says %q", got)
	}
	if text, err := os.ReadFile(file); string(text) != "a\nb\n" {
		t.Errorf("it wrote %q, %v", text, err)
	}
	if got := compare(file, "a\nb\n", false); got != "" {
		t.Errorf("the same text: %q", got)
	}
	got := compare(file, "a\nc\n", false)
	for _, want := range []string{"x.txt", "-run TestX -update", `"b"`, `"c"`} {
		if !strings.Contains(got, want) {
			t.Errorf("another text: no %q in %s", want, got)
		}
	}
}

func TestMissingFile(t *testing.T) {
	if got := compare(filepath.Join(t.TempDir(), "none"), "a", false); !strings.Contains(got, "-update, in this folder, writes it") {
		t.Errorf("a missing file: %q", got)
	}
}
