// Package monitor reads what a server's MONITOR shows: the commands that it carried out, in its order. It knows of which step each line
// is: of a command, a script or a transaction.
package monitor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Line is one command that a server carried out.
type Line struct {
	// At is the server's clock, counted from 1970.
	At time.Duration
	// DB is the database of the connection.
	DB int
	// Source is the address of the connection, or Script.
	Source string
	Args   []string
}

// Script is the source of a command that a script ran.
const Script = "lua"

// Parse reads a line such as
//
//	1339518083.107412 [0 127.0.0.1:60866] "set" "k" "a\"b"
func Parse(line string) (Line, error) {
	stamp, rest, ok := strings.Cut(line, " [")
	origin, rest, ok2 := strings.Cut(rest, "] ")
	number, source, ok3 := strings.Cut(origin, " ")
	if !ok || !ok2 || !ok3 {
		return Line{}, noLine(line)
	}
	sec, micro, _ := strings.Cut(stamp, ".")
	s, err := strconv.ParseUint(sec, 10, 33)
	if err != nil {
		return Line{}, noLine(line)
	}
	us, err := strconv.ParseUint(micro, 10, 32)
	if err != nil {
		return Line{}, noLine(line)
	}
	db, err := strconv.Atoi(number)
	if err != nil {
		return Line{}, noLine(line)
	}
	args, err := Words(rest)
	if err != nil || len(args) == 0 {
		return Line{}, noLine(line)
	}
	return Line{At: time.Duration(s)*time.Second + time.Duration(us)*time.Microsecond, DB: db, Source: source, Args: args}, nil
}

func noLine(line string) error { return fmt.Errorf("not a line of MONITOR: %.200q", line) }

// Words reads words in the quoting of Redis's sdscatrepr.
func Words(s string) ([]string, error) {
	var words []string
	for s != "" {
		if s[0] == ' ' {
			s = s[1:]
			continue
		}
		word, rest, err := unquote(s)
		if err != nil {
			return nil, err
		}
		words, s = append(words, word), rest
	}
	return words, nil
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b', '\\': '\\', '"': '"'}

func unquote(s string) (word, rest string, err error) {
	if s[0] != '"' {
		return "", "", fmt.Errorf("no quote at %q", s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], nil
		case s[i] != '\\':
			b.WriteByte(s[i])
		case i+3 < len(s) && s[i+1] == 'x':
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				return "", "", fmt.Errorf("bad escape at %q", s[i:])
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s) && escapes[s[i+1]] != 0:
			b.WriteByte(escapes[s[i+1]])
			i++
		default:
			return "", "", fmt.Errorf("bad escape at %q", s[i:])
		}
	}
	return "", "", fmt.Errorf("no end of the quote in %q", s)
}
