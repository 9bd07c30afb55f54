package main

import (
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = ""

// programVersion is the version of this program: the one set by the build, or what Go
// recorded, which is the version of the module or of the commit.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func versionLine() string {
	return fmt.Sprintf("sim %s %s %s/%s", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versions is what sim version prints with --json.
type versions struct {
	Sim       string            `json:"sim"`
	Commit    string            `json:"commit,omitempty"`
	Go        string            `json:"go"`
	System    string            `json:"system"`
	Libraries map[string]string `json:"libraries,omitempty"`
}

// shownLibraries are those whose versions can matter to a verdict.
var shownLibraries = []string{"github.com/Shopify/toxiproxy/v2", "github.com/anishathalye/porcupine", "github.com/redis/go-redis/v9",
	"github.com/testcontainers/testcontainers-go"}

func newVersionCommand(a *cli) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:         "version",
		Short:       "Print the versions of sim and of the libraries in it, and the commit of its sources",
		Args:        cobra.NoArgs,
		Annotations: ownDefaults,
		RunE: func(*cobra.Command, []string) error {
			v := versions{Sim: programVersion(), Commit: programOrigin().commit, Go: runtime.Version(),
				System: runtime.GOOS + "/" + runtime.GOARCH, Libraries: map[string]string{}}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, dep := range info.Deps {
					if slices.Contains(shownLibraries, dep.Path) {
						v.Libraries[dep.Path] = dep.Version
					}
				}
			}
			if asJSON {
				return a.printIndented(v)
			}
			fmt.Fprintln(a.stdout, versionLine())
			if v.Commit != "" {
				fmt.Fprintln(a.stdout, "  commit "+v.Commit)
			}
			for _, path := range slices.Sorted(maps.Keys(v.Libraries)) {
				fmt.Fprintf(a.stdout, "  %s %s\n", path, v.Libraries[path])
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as JSON on stdout")
	return c
}
