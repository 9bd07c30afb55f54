// Package golden is for tests: it compares what a test got with a file.
//
//	go test ./internal/report -update
//
// writes the files of a package anew, and `make golden` those of all packages. Look at the difference before you
// commit it.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Compare fails the test if got is not what the file has. With -update it writes the file instead.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\nhint: go test -run %s -update, in this folder, writes it", err, t.Name())
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; go test -run %s -update accepts):\n%s", file, t.Name(), diff)
	}
}
