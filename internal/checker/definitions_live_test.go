package checker_test

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestDefinitionsOnLiveRuns: the judges say what the page says of runs among real servers, as
// they were recorded, and damaged.
func TestDefinitionsOnLiveRuns(t *testing.T) {
	files, err := filepath.Glob("testdata/live-*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	o := checker.Options{GrantWithin: 3 * time.Second}
	n, first := suite.Amount(t, 3000, 300), firstSeed(t)
	violated := map[checker.Property]bool{}
	for _, file := range files {
		h := recorded(t, file)
		for p, v := range agree(t, h, o, file) {
			violated[p] = violated[p] || v == checker.Violated
		}
		for i := range uint64(n / len(files)) {
			agree(t, damage(h, first+i), o, fmt.Sprintf("%s, damaged with %d", file, first+i))
			agree(t, damage(asProgram(h), first+i), o, fmt.Sprintf("%s, as a program, damaged with %d", file, first+i))
		}
	}
	if len(violated) < 13 || !violated[checker.ExclusiveLease] || !violated[checker.NoLateEffect] || !violated[checker.OwnerRelease] {
		t.Errorf("the recorded runs violate too little: %v", violated)
	}
}

func recorded(t *testing.T, file string) *history.History {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Decode(z, 0)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return h
}
