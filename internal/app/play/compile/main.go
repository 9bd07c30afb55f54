// Command compile compiles the engine of the playground into internal/app/play/built, where sim embeds it, and prints its
// stamp. What was built from the same sources already stays. It runs in the folder of this project.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/play"
)

func main() {
	stamp := flag.String("stamp", "", "the stamp (default: a hash of the sources)")
	flag.Parse()
	if err := compile(*stamp); err != nil {
		fmt.Fprintln(os.Stderr, "compile:", err)
		os.Exit(1)
	}
}

func compile(stamp string) error {
	ctx := context.Background()
	dir := filepath.FromSlash(play.BuiltDir)
	if stamp == "" {
		var err error
		if stamp, err = play.SourcesStamp(ctx, "."); err != nil {
			return err
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, "stamp"))
	if err != nil || strings.TrimSpace(string(before)) != stamp {
		b, err := play.Build(ctx, play.Source{Dir: "."}, stamp)
		if err != nil {
			return err
		}
		if err := b.Store(dir); err != nil {
			return err
		}
	}
	fmt.Println(stamp)
	return nil
}
