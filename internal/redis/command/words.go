package command

import (
	"slices"
	"strconv"
)

// Words are the command as Redis takes it. A transaction has several commands, and
// no words of its own.
func (c *Command) Words() []string {
	words := []string{c.Op.String()}
	switch c.Op {
	case SET:
		words = append(words, c.Key, c.Value)
		if c.NX {
			words = append(words, "nx")
		}
		if len(c.Args) > 0 {
			words = append(words, "ifeq", c.Args[0])
		}
		if c.TTL > 0 {
			words = append(words, "px", Itoa(Milliseconds(c.TTL)))
		}
	case PEXPIRE:
		words = append(words, c.Key, Itoa(Milliseconds(c.TTL)))
	case WAIT:
		words = append(words, strconv.Itoa(c.Replicas), Itoa(Milliseconds(c.TTL)))
	case WAITAOF:
		words = append(words, "1", "0", Itoa(Milliseconds(c.TTL)))
	case EVAL:
		words = append(words, c.Script.Lua, strconv.Itoa(len(c.Keys)))
		words = append(append(words, c.Keys...), c.Args...)
	case HSETEX:
		words = append(words, c.Key)
		if c.NX {
			words = append(words, "fnx")
		}
		if c.TTL > 0 {
			words = append(words, "px", Itoa(Milliseconds(c.TTL)))
		}
		words = append(words, "fields", "1", c.Args[0], c.Value)
	case DELIFEQ:
		words = append(words, c.Key, c.Value)
	case RPUSH:
		words = append(append(words, c.Key), c.Args...)
	case BLPOP:
		words = append(words, c.Key, strconv.FormatFloat(float64(Milliseconds(c.TTL))/1000, 'f', -1, 64))
	case LRANGE:
		words = append(words, c.Key, "0", "-1")
	case WATCH:
		words = append(words, c.Keys...)
	case GET, DEL, PTTL, INCR, DECR:
		words = append(words, c.Key)
	}
	return words
}

// NamesInstant reports that one of the words of a command is an instant, in ms or s since 1970:
// then its sender's clock said when a key ends, and not the node's.
func NamesInstant(words []string, ms int64) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		n, err := strconv.ParseInt(word, 10, 64)
		return err == nil && (n == ms || n*1000 == ms)
	})
}

// ByName are the words of an EVAL that calls its script by the name that Redis gives it,
// without its source.
func (c *Command) ByName() []string {
	words := c.Words()
	words[0], words[1] = "evalsha", c.Script.SHA()
	return words
}
