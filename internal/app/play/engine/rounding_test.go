package engine_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

var fused = regexp.MustCompile(`\(\S*/(internal/[^)]*)\)\s+FN?M(ADD|SUB)[SD]`)

// A processor such as arm64 rounds x*y + z once, others twice. Where a time of a run came from such a sum, the same seed
// would give another run there. float64(x*y) + z is rounded twice everywhere.
func TestNothingIsRoundedOnce(t *testing.T) {
	suite.All(t)
	cmd := exec.Command("go", "build", "-gcflags=github.com/redlock-sim/redlock-sim/...=-S",
		"../../../explore", "../../../runner", "../../verdict")
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0") // as make cross builds: most is compiled once
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, code := bufio.NewScanner(out), false
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		code = code || strings.Contains(lines.Text(), "internal/world/virtual.") && strings.Contains(lines.Text(), "STEXT")
		// Pictures and rates are no part of a run.
		if m := fused.FindStringSubmatch(lines.Text()); m != nil && !strings.HasPrefix(m[1], "internal/report/") {
			t.Errorf("%s: a product and a sum are rounded once on arm64; write float64(x*y) + z", m[1])
		}
	}
	if err := cmd.Wait(); err != nil || lines.Err() != nil {
		t.Fatal(err, lines.Err())
	}
	if !code {
		t.Error("no code of the virtual world was looked at")
	}
}
