//go:build linux && amd64

package supervisor

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"
)

// TestGoReadsTicksInOnePlace finds in this program, which is one in Go, the code that is overwritten. What it is overwritten with is
// as long.
func TestGoReadsTicksInOnePlace(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	code, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(code, goTicks); n != 1 || f.Section(".go.buildinfo") == nil {
		t.Errorf("runtime.cputicks is there %d times", n)
	}
	if len(goTicks) != len(goTicksConstant) {
		t.Errorf("%d bytes are to be overwritten by %d", len(goTicks), len(goTicksConstant))
	}
}
