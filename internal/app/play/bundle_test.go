package play_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/play"
)

// TestBuiltDir: the engine is compiled into the folder from which sim embeds it.
func TestBuiltDir(t *testing.T) {
	here, err := os.Stat("built")
	if err != nil {
		t.Fatal(err)
	}
	told, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(play.BuiltDir)))
	if err != nil || !os.SameFile(here, told) {
		t.Errorf("%s is not the folder: %v", play.BuiltDir, err)
	}
}
