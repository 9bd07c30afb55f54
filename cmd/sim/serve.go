package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/serve"
	"github.com/redlock-sim/redlock-sim/internal/trial"
)

func newServeCommand(a *app) *cobra.Command {
	var listen string
	var hosts []string
	var remote, readOnly bool
	c := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Browse stored runs in a web browser",
		Long: `Browse stored runs in a web browser: list and filter them, compare two side by
side, delete them, and watch a run in progress. The server listens on the loopback
interface. For any other address give --remote, and with --host each host name under
which browsers reach the server.`,
		Example: `  sim serve
  sim serve my/reports --listen 127.0.0.1:9000 --read-only`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			folder := a.project.Out
			if len(args) == 1 {
				folder = args[0]
			}
			h, err := serve.New(serve.Options{Dir: folder, Hosts: hosts, ReadOnly: readOnly, Now: a.now})
			if err != nil {
				return &trial.EnvironmentError{Err: err, Hint: "sim run leaves its runs in reports/; name another folder"}
			}
			defer func() { _ = h.Close() }()
			err = serve.Run(c.Context(), listen, remote, h, func(url string) {
				fmt.Fprintf(a.stderr, "browse %s at %s (Ctrl-C stops it)\n", folder, url)
			})
			if err != nil {
				return &trial.EnvironmentError{Err: err}
			}
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on (default 127.0.0.1:8137)")
	c.Flags().BoolVar(&remote, "remote", false, "allow an address other than loopback")
	c.Flags().StringSliceVar(&hosts, "host", nil, "a host name under which browsers reach the server, besides those of loopback")
	c.Flags().BoolVar(&readOnly, "read-only", false, "do not allow runs to be deleted")
	return c
}
