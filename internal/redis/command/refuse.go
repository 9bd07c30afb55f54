package command

import (
	"slices"
	"strconv"
	"strings"
)

// A node can refuse a command before it carries it out. The first word of the error, its code, says why.

// refusing is a state of a node in which it refuses commands with the same code.
type refusing struct {
	code, text string
	refuses    func(words []string) bool
}

// refusals are all of which it is known what is refused, in Redis's words.
var refusals = []refusing{
	{"LOADING", "Redis is loading the dataset in memory", notIn(whileLoading)},
	{"BUSY", "Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", notIn(whileBusy)},
	{"MASTERDOWN", "Link with MASTER is down and replica-serve-stale-data is set to 'no'.", notIn(whileStale)},
	{"READONLY", "You can't write against a read only replica.", canWrite},
	{"MISCONF", "Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
		"Commands that may modify the data set are disabled, because this instance is configured to report errors during writes " +
		"if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.", canWrite},
	{"NOREPLICAS", "Not enough good replicas to write.", canWrite},
	{"OOM", "command not allowed when used memory > 'maxmemory'.", takesMemory},
	{"NOSCRIPT", "No matching script. Please use EVAL.", callsByName},
	{"CLUSTERDOWN", "The cluster is down", hasKeys},
}

// What a node carries out while it loads its data, while its data is stale, and while a script keeps it busy: the flags loading, stale
// and allow_busy of COMMAND. EXEC is refused where a command in its transaction is; scripts of a stale node, because of what they call.
const (
	whileLoading = `ACL AUTH CLIENT COMMAND CONFIG DEBUG DISCARD ECHO EXEC HELLO INFO LASTSAVE LATENCY MONITOR MULTI PSUBSCRIBE PUBLISH
		PUBSUB PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF RESET ROLE SELECT SHUTDOWN SLOWLOG SPUBLISH SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE
		TIME UNSUBSCRIBE UNWATCH WATCH`
	whileStale = whileLoading + ` CLUSTER FAILOVER REPLICAOF SCRIPT SLAVEOF`
	whileBusy  = `AUTH DISCARD EXEC FUNCTION HELLO MULTI QUIT REPLCONF RESET SCRIPT SHUTDOWN UNWATCH WATCH`
)

// scriptCalls are commands that run scripts; those with _RO write nothing.
const scriptCalls = `EVAL EVALSHA FCALL EVAL_RO EVALSHA_RO FCALL_RO`

func notIn(names string) func(words []string) bool {
	list := strings.Fields(names)
	return func(words []string) bool { return !slices.Contains(list, strings.ToUpper(words[0])) }
}

func isScript(name string) bool { return slices.Contains(strings.Fields(scriptCalls), name) }

// canWrite: a script is refused whole, as Redis refuses one that says what it does; of others it refuses the first write.
func canWrite(words []string) bool {
	name := strings.ToUpper(words[0])
	return CanDoByName(name) != 0 || isScript(name) && !strings.HasSuffix(name, "_RO")
}

// takesMemory: the flag denyoom of COMMAND.
func takesMemory(words []string) bool {
	name := strings.ToUpper(words[0])
	if slices.Contains([]string{"LINSERT", "LSET", "XSETID"}, name) {
		return true
	}
	const never = `RENAME RENAMENX MOVE MIGRATE SMOVE SWAPDB SFLUSH`
	return canWrite(words) && (isScript(name) || CanDoByName(name)&CanSet != 0) && !slices.Contains(strings.Fields(never), name)
}

func callsByName(words []string) bool {
	name := strings.ToUpper(words[0])
	return name == "EVALSHA" || name == "EVALSHA_RO"
}

// hasKeys: a node of a cluster looks for the slot of keys alone.
func hasKeys(words []string) bool {
	name := strings.ToUpper(words[0])
	if isScript(name) {
		n, err := strconv.Atoi(slices.Concat(words, []string{"", "", ""})[2])
		return err == nil && n > 0
	}
	const more = `DBSIZE FLUSHALL FLUSHDB KEYS RANDOMKEY SCAN SWAPDB`
	return !slices.Contains(strings.Fields(keyless), name) && !slices.Contains(strings.Fields(more), name)
}

// RefusalCodes are the codes of which it is known what is refused.
func RefusalCodes() (codes []string) {
	for i := range refusals {
		codes = append(codes, refusals[i].code)
	}
	return codes
}

// RefusalCode is the first word of an error, which says why it is.
func RefusalCode(text string) string {
	code, _, _ := strings.Cut(text, " ")
	return code
}

func refusalOf(text string) (refusing, bool) {
	i := slices.IndexFunc(refusals, func(r refusing) bool { return r.code == RefusalCode(text) })
	if i < 0 {
		return refusing{}, false
	}
	return refusals[i], true
}

// ExecAbort is what EXEC answers where a command of its transaction was refused.
const ExecAbort = "EXECABORT Transaction discarded because of previous errors."

// RefusalText is the error that is meant: Redis's own words where only the code is given.
func RefusalText(given string) string {
	if r, ok := refusalOf(given); ok && given == r.code {
		return r.code + " " + r.text
	}
	return given
}

// Refuses reports that a node answers the command with the error, in the state in which it answers with such errors.
func Refuses(text string, words []string) bool {
	r, ok := refusalOf(text)
	return ok && len(words) > 0 && r.refuses(words)
}
