package scenario

import (
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// Elsewhere is what the nodes are, where they are not processes of this machine.
type Elsewhere struct {
	Image     string               `yaml:"image" doc:"with --nodes docker: the image to run, any of Redis 6 to 8 or Valkey; by default one of ours, with libfaketime" pattern:"^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,255}$"`
	Addresses []string             `yaml:"addresses" doc:"with --nodes external: host:port of each node, in their order"`
	TLS       bool                 `yaml:"tls" doc:"with --nodes external: talk TLS to the nodes" default:"false"`
	CA        string               `yaml:"ca" doc:"with tls: a file with the certificates to trust, in PEM; by default those of the machine" max:"1000"`
	Username  string               `yaml:"username" doc:"with --nodes external: the user to log in as" max:"200"`
	Password  bool                 `yaml:"password" doc:"with --nodes external: the nodes want a password; the flag --password-env says which environment variable holds it" default:"false"`
	Prefix    string               `yaml:"prefix" doc:"with --nodes external: every key that is touched begins with this" default:"redlock-sim:" pattern:"^[A-Za-z0-9:._-]{1,100}$"`
	Hooks     map[string]NodeHooks `yaml:"hooks" doc:"with --nodes external and --allow-hooks: commands, by node, that do to its host what sim cannot do from afar"`
}

// NodeHooks are commands for the host of one node: a program and its arguments.
type NodeHooks struct {
	Pause   []string `yaml:"pause" doc:"stops the server where it stands"`
	Resume  []string `yaml:"resume" doc:"lets it go on"`
	Kill    []string `yaml:"kill" doc:"kills the server"`
	Restart []string `yaml:"restart" doc:"starts it again; {keep} is what it is to find on its disk: data, nothing or synced"`
	Clock   []string `yaml:"clock" doc:"moves the clock by which the server expires keys: {offset} seconds ahead, running at {rate} from there"`
}

// checkElsewhere makes sure that the nodes' addresses and hooks fit the nodes.
func (d *decoder) checkElsewhere(n *Nodes) {
	if n.CA != "" && !n.TLS && d.Sound("nodes.tls") {
		d.ProblemAt("nodes.ca", "certificates are used only with tls").Hint = "nodes: {tls: true, ...}"
	}
	if n.Username != "" && !n.Password && d.Sound("nodes.password") {
		d.ProblemAt("nodes.username", "a user needs a password").Hint =
			"nodes: {password: true, ...}; the flag --password-env names the environment variable that holds it"
	}
	d.checkAddresses(n)
	d.checkHooks(n)
}

func (d *decoder) checkAddresses(n *Nodes) {
	if len(n.Addresses) > 0 && n.Clustered() {
		d.ProblemAt("nodes.addresses", "sim makes a Redis Cluster of its own: it cannot be one that exists").Hint = "leave out addresses"
		return
	}
	for i, address := range n.Addresses {
		path := "nodes.addresses[" + strconv.Itoa(i) + "]"
		_, port, err := net.SplitHostPort(address)
		if number, e := strconv.Atoi(port); err != nil || e != nil || number < 1 || number > 65535 {
			d.ProblemAt(path, "%q is not host:port", yamlform.Clip(address)).Hint = "such as 10.0.0.7:6379 or [::1]:6379"
		}
		if slices.Contains(n.Addresses[:i], address) {
			d.ProblemAt(path, "%q is given twice: each node is a server of its own", yamlform.Clip(address))
		}
	}
	if got := len(n.Addresses); got > 0 && got != n.Count && d.Sound("nodes.count") {
		d.ProblemAt("nodes.addresses", "nodes.addresses has %d, nodes.count is %d", got, n.Count).Hint = "nodes: {count: " +
			strconv.Itoa(got) + ", ...}"
	}
}

func (d *decoder) checkHooks(n *Nodes) {
	for _, node := range slices.Sorted(maps.Keys(n.Hooks)) {
		if names := NodeNames(n.Count); !slices.Contains(names, node) && d.Sound("nodes.count") {
			d.ProblemAt("nodes.hooks."+node, "no node %q", yamlform.Clip(node)).Suggest(node, names)
		}
		h := n.Hooks[node]
		for _, pair := range []struct {
			name, other string
			given, goes bool
		}{{"pause", "resume", len(h.Pause) > 0, len(h.Resume) > 0}, {"kill", "restart", len(h.Kill) > 0, len(h.Restart) > 0}} {
			if pair.given != pair.goes {
				d.ProblemAt("nodes.hooks."+node, "%s and %s go together", pair.name, pair.other)
			}
		}
	}
}
