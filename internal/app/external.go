package app

import (
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// checkExternal makes sure that scenarios for existing servers name them, and
// that no command of a scenario is run without a word from the user.
func (e *Env) checkExternal(list []*scenario.Scenario, r request.Run) error {
	if r.World != request.Live || r.Nodes != string(server.External) {
		if e.Permit.Hooks {
			return Usagef("--allow-hooks is for --nodes external")
		}
		if e.Permit.PasswordEnv != "" {
			return Usagef("--password-env is for --nodes external")
		}
		return nil
	}
	if e.Permit.PasswordEnv != "" && !variableName.MatchString(e.Permit.PasswordEnv) {
		return Usagef("--password-env: want the name of an environment variable, not the password")
	}
	for _, s := range list {
		for i := range s.Variants {
			n := &s.Variants[i].Setup.Nodes
			if len(n.Addresses) == 0 {
				return Usagef("%s: --nodes external needs the addresses of the nodes", s.File).
					Hint("nodes: {count: 1, addresses: [\"127.0.0.1:6379\"]}")
			}
			if err := e.checkPassword(s.File, n); err != nil {
				return err
			}
			if commands := commandsOf(n); len(commands) > 0 && !e.Permit.Hooks {
				return Usagef("%s names commands to run on this machine:\n  %s", s.File, strings.Join(commands, "\n  ")).
					Hint("read them; if they are safe, run with --allow-hooks")
			}
		}
	}
	return nil
}

// checkSentinels refuses sentinels over servers that exist already, whose settings they would change.
func checkSentinels(list []*scenario.Scenario, r request.Run) error {
	if r.World != request.Live || server.Provider(r.Nodes) != server.External {
		return nil
	}
	for _, s := range list {
		for i := range s.Variants {
			if s.Variants[i].Setup.Nodes.Watched() {
				return Usagef("%s has sentinels; they "+
					"change the settings of the servers that they watch, so they watch none that exist already", s.File).
					Hint("--nodes process, --nodes docker, or --world virtual")
			}
		}
	}
	return nil
}

// checkImages makes sure that no image which a scenario names is fetched and run without a word
// from the user: --nodes docker on the command line is one.
func (e *Env) checkImages(ctx context.Context, list []*scenario.Scenario, r request.Run) error {
	nodes := server.Provider(r.Nodes)
	if r.World != request.Live || nodes == server.Process || nodes == server.Docker && e.Permit.Images {
		return nil
	}
	if nodes == server.External { // the resource still needs a place
		nodes = server.Auto
	}
	if p, err := server.Settle(ctx, nodes, r.Redis); err != nil || p != server.Docker {
		return nil // what is missing is told when the first run is prepared
	}
	for _, s := range list {
		for i := range s.Variants {
			if image := s.Variants[i].Setup.Nodes.Image; image != "" {
				return Usagef("%s wants nodes in Docker to run the image %q", s.File, image).
					Hint("if you trust it, say so: --nodes docker; or leave nodes: {image: ...} out to use the image of sim")
			}
		}
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// checkPassword makes sure that the user has named the password which a scenario asks for,
// and that nobody can read it on its way.
func (e *Env) checkPassword(file string, n *scenario.Nodes) error {
	if !n.Password {
		return nil
	}
	if e.Permit.PasswordEnv == "" {
		return Usagef("%s asks for a password for %s", file, strings.Join(n.Addresses, ", ")).
			Hint("if that is right, put it into an environment variable, and name that: --password-env REDIS_PASSWORD")
	}
	if e.Variable(e.Permit.PasswordEnv) == "" {
		return Usagef("%s asks for a password, but the environment variable that --password-env names is not set", file)
	}
	for _, address := range n.Addresses {
		if !n.TLS && !e.Permit.PlainPassword && !IsLoopback(address) {
			return Usagef("%s: the password would go to %s without TLS, where others can read it", file, address).
				Hint("nodes: {tls: true, ...}; or --allow-plain-password")
		}
	}
	return nil
}

// IsLoopback reports that an address is on this machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// commandsOf are the hooks of the nodes, as a person can judge them.
func commandsOf(n *scenario.Nodes) []string {
	var list []string
	for _, node := range slices.Sorted(maps.Keys(n.Hooks)) {
		h := n.Hooks[node]
		for _, c := range [][]string{h.Pause, h.Resume, h.Kill, h.Restart, h.Clock} {
			if len(c) > 0 {
				list = append(list, fmt.Sprintf("%q", c))
			}
		}
	}
	return list
}
