package nodetest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Words draws commands.
type Words struct {
	// Pick draws a number below n.
	Pick func(n int) int
	// Now is the node's clock, in ms since 1970.
	Now int64
}

// Keys are the keys of all commands, each of which mostly holds one kind.
func Keys() []string { return []string{"a", "b", "h", "l", "s", "z"} }

// Names are the commands that are drawn; a word behind | is a subcommand.
func Names() []string { return slices.Clone(names) }

// CallScript calls the command that its arguments are.
const CallScript = "return redis.call(unpack(ARGV))"

func (w Words) of(list ...string) string { return list[w.Pick(len(list))] }

func (w Words) word(kind string) string {
	seconds := w.Now / 1000
	switch kind {
	case "k":
		return w.of(Keys()...)
	case "h", "l", "s", "z":
		return w.of(kind, kind, kind, kind, kind, kind, "a")
	case "f":
		return w.of("x", "y", "1", "")
	case "v":
		return w.of("x", "y", "1", "7", "-3", "", "9223372036854775807", "007", "a\x00\r\nb", "3.5")
	case "n":
		return w.of("1", "2", "0", "-1", "-2", "5", "9223372036854775807", "-9223372036854775808", "x", "01")
	case "sec":
		return w.of("1", "2", "3", "1", "2", "0", "-1", "x", "9223372036854775807", strconv.FormatInt(seconds+2, 10))
	case "ms":
		return w.of("1000", "20", "150", "1", "7", "2", "0", "-5", "x", "9223372036854775807", strconv.FormatInt(w.Now+150, 10))
	case "at":
		return strconv.FormatInt(seconds+int64(w.Pick(5)-1), 10)
	case "atms":
		return strconv.FormatInt(w.Now+[]int64{-1000, -1, 0, 1, 2, 30, 400, 2000}[w.Pick(8)], 10)
	case "score":
		return w.of("1", "2", "1.5", "0.1", "-1", "inf", "-inf", "x", "nan", "1e30", "3e-7")
	case "bound":
		return w.of("1", "(1", "2", "(2", "-inf", "+inf", "inf", "1.5", "x", "(", "0")
	case "CALL":
		return CallScript
	case "CALL3":
		return "redis.setresp(3) " + CallScript
	case "PCALL":
		return "local r = redis.pcall(unpack(ARGV)) return {r, type(r), r == false}"
	case "TWICE":
		return CallScript + ", redis.call(unpack(ARGV))"
	case "sha":
		return command.SHA(CallScript)
	case "glob":
		return w.of("*", "?", "[a-h]", "[^a]", "h*", "\\a", "[ab", "a?", "**l")
	}
	return kind
}

// names are those of the shapes.
var names = func() (list []string) {
	for arity, subcommands := range cluster {
		for name := range strings.FieldsSeq(subcommands) {
			shapes["cluster|"+name] = []string{strings.TrimSpace(strings.Repeat("1 ", arity-2))}
		}
	}
	for name := range shapes {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}()

// cluster are the commands of CLUSTER, by how many words they have at least.
var cluster = map[int]string{
	2: "info nodes slots shards myid links flushslots saveconfig bumpepoch reset failover",
	3: "keyslot countkeysinslot replicas slaves forget replicate set-config-epoch count-failure-reports addslots delslots",
	4: "getkeysinslot addslotsrange delslotsrange meet setslot",
}

// Draw draws a command with arguments that fit it, mostly, among those with some names.
func (w Words) Draw(names []string) []string {
	if w.Pick(12) == 0 && slices.Contains(names, "eval") {
		return w.library()
	}
	return w.words(w.of(names...), names)
}

// library calls a script of a lock library.
func (w Words) library() []string {
	s := LibraryScripts[w.Pick(len(LibraryScripts))]
	keys := strings.Fields(s.keys)
	words := []string{"EVAL", s.Text, strconv.Itoa(len(keys))}
	if w.Pick(2) == 0 {
		words[0], words[1] = "EVALSHA", command.SHA(s.Text)
	}
	for _, kind := range append(keys, strings.Fields(s.args)...) {
		words = append(words, w.word(kind))
	}
	return words
}

// words writes a command in one of its shapes.
func (w Words) words(name string, names []string) []string {
	words := strings.Split(name, "|")
	if w.Pick(10) > 0 {
		words[0] = strings.ToUpper(words[0])
	}
	shape := w.of(shapes[name]...)
	for shape != "" {
		if rest, ok := strings.CutPrefix(shape, "["); ok {
			options, after, _ := strings.Cut(rest, "]")
			for range []int{0, 1, 1, 1, 2, 2, 3}[w.Pick(7)] {
				for part := range strings.SplitSeq(w.of(strings.Fields(options)...), ":") {
					words = append(words, w.word(part))
				}
			}
			shape = strings.TrimPrefix(after, " ")
			continue
		}
		kind, rest, _ := strings.Cut(shape, " ")
		if kind == "any" {
			words = append(words, w.words(w.of(names...), names)...)
		} else {
			words = append(words, w.word(kind))
		}
		shape = rest
	}
	if w.Pick(50) == 0 && name != "info" {
		words = words[:max(1, len(words)-1)]
	}
	return words
}
