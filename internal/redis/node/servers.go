package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// version is the Redis that the model is held against.
const version = "7.0.15"

var serverRows = []row{
	{name: "time", arity: 1, do: timeOf},
	{name: "info", arity: -1, do: info},
	{name: "role", arity: 1, flags: noScript, do: role},
	{name: "command", arity: -1, do: func(x *call, w []string) {
		x.n.unknown(strings.ToUpper(strings.Join(w[:min(2, len(w))], " ")))
		x.array(0)
	}},
	container("config", "resetstat rewrite help",
		row{name: "get", arity: -3, flags: noScript, do: configGet},
		row{name: "set", arity: -4, flags: noScript, do: configSet}),
	clusterRow(),
}

func timeOf(x *call, _ []string) {
	now := x.n.Memory.Now
	x.words(strconv.FormatInt(now/1e6, 10), strconv.FormatInt(now%1e6, 10))
}

func role(x *call, _ []string) {
	x.array(3)
	x.bulk("master")
	x.integer(0)
	x.array(0)
}

// clusterRow is CLUSTER, all of whose commands are refused where there is no cluster.
func clusterRow() row {
	subs := map[int]string{
		2:  "info nodes slots shards myid links flushslots saveconfig bumpepoch",
		3:  "keyslot countkeysinslot replicas slaves forget replicate set-config-epoch count-failure-reports",
		4:  "getkeysinslot",
		-2: "reset failover",
		-3: "addslots delslots",
		-4: "addslotsrange delslotsrange meet setslot",
	}
	var rows []row
	for arity, names := range subs {
		for name := range strings.FieldsSeq(names) {
			r := row{name: name, arity: arity, do: func(x *call, _ []string) { x.fail("ERR This instance has cluster support disabled") }}
			if name == "reset" {
				r.flags = noScript
			}
			rows = append(rows, r)
		}
	}
	return container("cluster", "help", rows...)
}

// verbatim answers a text that is for people.
func (x *call) verbatim(s string) {
	if x.v3 {
		x.b = resp.AppendBulk(x.b, resp.Verbatim, "txt:"+s)
		return
	}
	x.bulk(s)
}

// info answers what libraries look for: which server that is, and in which state.
func info(x *call, w []string) {
	n := x.n
	keyspace, expiring := "", 0
	for _, it := range n.Memory.Items {
		if it.Expires != 0 {
			expiring++
		}
	}
	if len(n.Memory.Items) > 0 {
		keyspace = fmt.Sprintf("db0:keys=%d,expires=%d,avg_ttl=0\r\n", len(n.Memory.Items), expiring)
	}
	sections := []struct{ name, text string }{
		{"Server", "redis_version:" + version + "\r\nredis_mode:standalone\r\nos:Linux\r\narch_bits:64\r\ntcp_port:6379\r\n"},
		{"Clients", fmt.Sprintf("connected_clients:%d\r\ncluster_connections:0\r\nmaxclients:10000\r\nblocked_clients:0\r\n", len(n.conns))},
		{"Memory", "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"},
		{"Persistence", "loading:0\r\nasync_loading:0\r\n"},
		{"Replication", "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n"},
		{"Cluster", "cluster_enabled:0\r\n"},
		{"Keyspace", keyspace},
	}
	all := len(w) == 1 || slices.ContainsFunc(w[1:], func(s string) bool {
		return strings.EqualFold(s, "all") || strings.EqualFold(s, "default") || strings.EqualFold(s, "everything")
	})
	var b strings.Builder
	for _, s := range sections {
		if all || slices.ContainsFunc(w[1:], func(name string) bool { return strings.EqualFold(name, s.name) }) {
			if b.Len() > 0 {
				b.WriteString("\r\n")
			}
			b.WriteString("# " + s.name + "\r\n" + s.text)
		}
	}
	for _, name := range w[1:] {
		if among("stats cpu modules errorstats commandstats latencystats sentinel", name) {
			n.unknown("INFO " + strings.ToUpper(name))
		}
	}
	x.verbatim(b.String())
}

// settings are those that libraries ask for, in the order of their names.
func (n *Node) settings() []struct{ name, value string } {
	return []struct{ name, value string }{
		{"appendonly", "no"}, {"cluster-enabled", "no"}, {"databases", "16"}, {"maxclients", "10000"}, {"maxmemory", "0"},
		{"maxmemory-policy", "noeviction"}, {eventsSetting, n.events.String()}, {"requirepass", ""}, {"save", ""}, {"timeout", "0"},
	}
}

const eventsSetting = "notify-keyspace-events"

func configGet(x *call, w []string) {
	var found []string
	for _, pattern := range w[2:] {
		any := false
		for _, s := range x.n.settings() {
			if glob(strings.ToLower(pattern), s.name) {
				any = true
				if !slices.Contains(found, s.name) {
					found = append(found, s.name, s.value)
				}
			}
		}
		if !any || strings.ContainsAny(pattern, "*?[") {
			x.n.unknown("CONFIG GET " + pattern)
		}
	}
	x.mapping(len(found) / 2)
	for _, word := range found {
		x.bulk(word)
	}
}

func configSet(x *call, w []string) {
	if len(w)%2 != 0 {
		x.fail("ERR wrong number of arguments for 'config|set' command")
		return
	}
	set, has := x.n.events, false
	for i := 2; i < len(w); i += 2 {
		var ok bool
		if strings.ToLower(w[i]) != eventsSetting {
			x.n.unknown("CONFIG SET " + w[i])
			x.refuse("Unknown option or number of arguments for CONFIG SET - '" + w[i] + "'")
			return
		}
		if has {
			x.refuse("CONFIG SET failed (possibly related to argument '" + w[i] + "') - duplicate parameter")
			return
		}
		if set, ok = x.n.parseEvents(w[i+1]); !ok {
			x.refuse("CONFIG SET failed (possibly related to argument '" + w[i] + "') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
			return
		}
		has = true
	}
	x.n.events = set
	x.ok()
}
