package main

import (
	"fmt"
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

func versionLine() string {
	return fmt.Sprintf("sim %s %s %s/%s", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersionCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the versions of sim and of the libraries in it, and the commit of its sources",
		Args:        cobra.NoArgs,
		Annotations: ownDefaults,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(a.stdout, versionLine())
			if commit := programOrigin().commit; commit != "" {
				fmt.Fprintln(a.stdout, "  commit "+commit)
			}
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
