package launch

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// built is what launcher/built.txt says: the sums of files, and the versions of compiler and linker.
func built(t *testing.T) (sums map[string]string, tools string) {
	t.Helper()
	text, err := os.ReadFile("launcher/built.txt")
	if err != nil {
		t.Fatal(err)
	}
	sums = map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && len(sum) == 2*sha256.Size {
			sums[name] = sum
		} else {
			tools += line
		}
	}
	return sums, tools
}

// TestLauncherIsOfItsSource: nobody has changed the launcher, its source or the way it is built without the others.
func TestLauncherIsOfItsSource(t *testing.T) {
	t.Parallel()
	sums, _ := built(t)
	for _, name := range []string{"build.sh", "launcher.c", "launcher"} {
		b, err := os.ReadFile(filepath.Join("launcher", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != sums[name] {
			t.Errorf("launcher/%s has the sum %s, built.txt says %s; hint: make launcher", name, got, sums[name])
		}
	}
}

// TestLauncherIsReproduced: the compiler that made the launcher makes the same bytes of its source again.
func TestLauncherIsReproduced(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		suite.Lacks(t, "Linux on amd64")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		suite.Lacks(t, "gcc")
	}
	out := filepath.Join(t.TempDir(), "launcher")
	build := exec.Command("sh", "launcher/build.sh", out)
	build.Env = append(os.Environ(), "LC_ALL=C")
	tools, err := suite.Output(t, build)
	if _, used := built(t); string(tools) != used {
		suite.Lacks(t, "the compiler of the launcher: "+strings.ReplaceAll(strings.TrimSpace(used), "\n", ", "))
	}
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := os.ReadFile("launcher/launcher")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(here, embedded) {
		t.Errorf("the launcher's source makes %d other bytes than the %d that are embedded; hint: make launcher", len(here), len(embedded))
	}
}
