package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

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

var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// programRef is what names this program's sources in their repository: the version of a
// release, else the branch.
func programRef() string {
	if v := programVersion(); release.MatchString(v) {
		return v
	}
	return "main"
}

func versionLine() string {
	return fmt.Sprintf("sim %s %s %s/%s", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersionCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the versions of sim and of the libraries in it",
		Args:        cobra.NoArgs,
		Annotations: ownDefaults,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(a.stdout, versionLine())
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return nil
			}
			shown := map[string]bool{
				"github.com/anishathalye/porcupine": true, "github.com/redis/go-redis/v9": true,
				"github.com/Shopify/toxiproxy/v2": true, "github.com/testcontainers/testcontainers-go": true,
			}
			for _, dep := range info.Deps {
				if shown[dep.Path] {
					fmt.Fprintf(a.stdout, "  %s %s\n", dep.Path, dep.Version)
				}
			}
			return nil
		},
	}
}
