//go:build linux && amd64

package supervisor

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestClockCodeIsOfItsSource assembles clock.asm.
func TestClockCodeIsOfItsSource(t *testing.T) {
	for _, program := range []string{"as", "objcopy"} {
		if _, err := exec.LookPath(program); err != nil {
			suite.Lacks(t, program)
		}
	}
	dir := t.TempDir()
	object, code := filepath.Join(dir, "clock.o"), filepath.Join(dir, "clock.bin")
	for _, c := range [][]string{{"as", "-o", object, "clock.asm"}, {"objcopy", "-O", "binary", "-j", ".text", object, code}} {
		if out, err := suite.CombinedOutput(t, exec.Command(c[0], c[1:]...)); err != nil {
			t.Fatalf("%q: %v: %s", c, err, out)
		}
	}
	made, err := os.ReadFile(code)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, clockCode) {
		t.Errorf("clock.bin (%d bytes) is not what clock.asm makes (%d bytes): make clockcode", len(clockCode), len(made))
	}
}
