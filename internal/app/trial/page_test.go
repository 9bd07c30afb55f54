package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

// A page quotes the end of what the lock program printed, and only from files of its own folder.
func TestPageQuotesTheProgram(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	write("outside.log", "a secret\n")
	write("run/unfenced/client-c1.log", long.String()+"<b>last</b> \xff\n")
	write("run/unfenced/client-c2.log", "")
	if err := os.Symlink(filepath.Join(dir, "outside.log"), filepath.Join(dir, "run", "unfenced", "client-c4.log")); err != nil {
		t.Fatal(err)
	}
	r := reporttest.GCPause()
	r.Variants[0].Lock = &report.Lock{Name: "mine", Class: "single", Promise: "told by the lock",
		Logs: []string{"unfenced/client-c1.log", "unfenced/client-c2.log", "unfenced/client-c3.log", "unfenced/client-c4.log", "../outside.log"}}
	path := filepath.Join(dir, "run", "report.html")
	if err := writePage(path, r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, want := range []string{"&lt;b&gt;last&lt;/b&gt; �",
		"line 999", "line 989\n", "the last 12 lines", "<dd>told by the lock</dd>", `href="./unfenced/client-c1.log"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, foreign := range []string{"line 988\n", "a secret"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	if n := strings.Count(page, `class="quote"`); n != 1 {
		t.Errorf("%d logs are quoted, want the one that has lines", n)
	}
}
