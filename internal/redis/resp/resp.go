// Package resp reads and writes the protocol of Redis, versions 2 and 3. It works on
// bytes, not on connections, so that whoever passes messages on can read them, too.
package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the first byte of a value.
type Kind byte

// The kinds of values. Those behind Array came with version 3.
const (
	Text    Kind = '+'
	Error   Kind = '-'
	Integer Kind = ':'
	Bulk    Kind = '$'
	Array   Kind = '*'

	Null      Kind = '_'
	Bool      Kind = '#'
	Double    Kind = ','
	BigNumber Kind = '('
	BulkError Kind = '!'
	Verbatim  Kind = '='
	Map       Kind = '%'
	Set       Kind = '~'
	Push      Kind = '>'
	Attribute Kind = '|'
)

// Value is one value.
type Value struct {
	Kind Kind
	// Text is that of a text, error, bulk, number or bool, as it was sent.
	Text string
	// List are the values in an array, set or push, or the keys and values in turns of a
	// map or attribute.
	List []Value
	// Null: a bulk or array that is not there (version 2).
	Null bool
}

// ErrShort says that the bytes end within a value.
var ErrShort = errors.New("the message is not complete")

// Bounds of what is read: Redis's own for a bulk, and ours for what is in lists.
const (
	maxBulk  = 512 << 20
	maxLine  = 64 << 10
	maxList  = 1 << 20
	maxDepth = 32
)

// Parse reads the value at the beginning of b, and says how many bytes it takes.
// The error is ErrShort where more bytes are needed.
func Parse(b []byte) (v Value, n int, err error) {
	p := parser{b: b, room: maxList}
	v, err = p.value(0)
	return v, p.at, err
}

// ParseCommand reads the command at the beginning of b, as libraries send it: an array of
// bulks. The error is ErrShort where more bytes are needed.
func ParseCommand(b []byte) (words []string, n int, err error) {
	p := parser{b: b}
	line, err := p.line()
	if err != nil {
		return nil, 0, err
	}
	h, err := parseHead(line)
	if err != nil {
		return nil, 0, err
	}
	if h.Kind != Array || h.Null {
		return nil, 0, fmt.Errorf("%q where a command was to begin", byte(h.Kind))
	}
	for range h.size {
		word, err := p.value(0)
		if err != nil {
			return nil, 0, err
		}
		if word.Kind != Bulk || word.Null {
			return nil, 0, fmt.Errorf("%q where a word of a command was to begin", byte(word.Kind))
		}
		words = append(words, word.Text)
	}
	return words, p.at, nil
}

// ParseRequest reads the command at the beginning of what a client sends: one as libraries send it, or a line of words. What words with
// quotes mean is left to the server.
func ParseRequest(b []byte) (words []string, n int, err error) {
	if len(b) == 0 || (b[0]|0x20) < 'a' || (b[0]|0x20) > 'z' {
		return ParseCommand(b)
	}
	p := parser{b: b}
	line, err := p.line()
	if err == nil && strings.ContainsAny(line, `"'`) {
		err = errors.New("a line with quotes where a command was to begin")
	}
	if err != nil {
		return nil, 0, err
	}
	return strings.Fields(line), p.at, nil
}

type parser struct {
	b    []byte
	at   int
	room int // how many values may still come
}

func (p *parser) value(depth int) (v Value, err error) {
	line, err := p.line()
	if err != nil {
		return v, err
	}
	h, err := parseHead(line)
	if err != nil {
		return v, err
	}
	if depth > maxDepth {
		return v, errDepth
	}
	v = Value{Kind: h.Kind, Text: h.Text, Null: h.Null}
	if h.bulk && !h.Null {
		return v, p.bulk(&v, h.size)
	}
	if p.room -= h.size; p.room < 0 {
		return v, fmt.Errorf("more than %d values", maxList)
	}
	for range h.size {
		one, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.List = append(v.List, one)
	}
	return v, nil
}

var (
	errDepth = fmt.Errorf("values within values, more than %d deep", maxDepth)
	errLine  = fmt.Errorf("a line of more than %d bytes", maxLine)
)

// head is what the line says with which a value begins.
type head struct {
	Kind Kind
	// Text is that of a value that is no more than its line.
	Text string
	// bulk, list: what comes behind the line, and size how many bytes or values that are.
	bulk, list, Null bool
	size             int
}

func parseHead(line string) (h head, err error) {
	if line == "" {
		return h, errors.New("a value without a kind")
	}
	h.Kind = Kind(line[0])
	most, per := maxBulk, 1
	switch h.Kind {
	case Text, Error, Integer, Double, BigNumber, Bool, Null:
		h.Text = line[1:]
		return h, nil
	case Bulk, BulkError, Verbatim:
		h.bulk = true
	case Map, Attribute:
		h.list, per, most = true, 2, maxList/2
	case Array, Set, Push:
		h.list, most = true, maxList
	default:
		return h, fmt.Errorf("no value begins with %q", line[0])
	}
	n, err := strconv.Atoi(line[1:])
	if err == nil && n == -1 {
		h.Null = true
		return h, nil
	}
	if err != nil || n < 0 || n > most {
		return h, fmt.Errorf("a length that is none, or too great, after %q", line[0])
	}
	h.size = n * per
	return h, nil
}

// line reads up to the next line break.
func (p *parser) line() (string, error) {
	rest := p.b[p.at:]
	end := bytes.IndexByte(rest[:min(len(rest), maxLine)], '\n')
	if end < 0 && len(rest) >= maxLine {
		return "", errLine
	}
	if end < 0 {
		return "", ErrShort
	}
	p.at += end + 1
	return strings.TrimSuffix(string(rest[:end]), "\r"), nil
}

func (p *parser) bulk(v *Value, n int) error {
	if len(p.b)-p.at < n+2 {
		return ErrShort
	}
	if p.b[p.at+n] != '\r' || p.b[p.at+n+1] != '\n' {
		return errors.New("a bulk that does not end where it should")
	}
	v.Text = string(p.b[p.at : p.at+n])
	p.at += n + 2
	return nil
}

// Plain is the value as Go has it: nil, an int64, a string, an error, or a list ([]any) of these.
func (v *Value) Plain() any {
	switch v.Kind {
	case Integer:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n
		}
	case Error, BulkError:
		return errors.New(v.Text)
	case Array, Set, Push, Map, Attribute:
		if v.Null {
			return nil
		}
		list := make([]any, len(v.List))
		for i := range v.List {
			list[i] = v.List[i].Plain()
		}
		return list
	case Text, Bulk, Double, BigNumber, Bool, Null, Verbatim:
	}
	if v.Null || v.Kind == Null {
		return nil
	}
	return v.Text
}

// Append writes a value behind b.
func Append(b []byte, v Value) []byte {
	switch v.Kind {
	case Bulk, BulkError, Verbatim:
		if v.Null {
			return AppendLine(b, v.Kind, "-1")
		}
		return AppendBulk(b, v.Kind, v.Text)
	case Array, Set, Push, Map, Attribute:
		if v.Null {
			return AppendLine(b, v.Kind, "-1")
		}
		n := len(v.List)
		if v.Kind == Map || v.Kind == Attribute {
			n /= 2
		}
		b = AppendNumber(b, v.Kind, int64(n))
		for _, one := range v.List {
			b = Append(b, one)
		}
		return b
	case Text, Error, Integer, Double, BigNumber, Bool, Null:
	}
	return AppendLine(b, v.Kind, v.Text)
}

// AppendLine writes a value that is no more than its line.
func AppendLine(b []byte, k Kind, text string) []byte {
	return append(append(append(b, byte(k)), text...), "\r\n"...)
}

// AppendNumber writes an integer, or with what a list begins: how many values, or pairs of
// them, it has.
func AppendNumber(b []byte, k Kind, n int64) []byte {
	return append(strconv.AppendInt(append(b, byte(k)), n, 10), "\r\n"...)
}

// AppendBulk writes a value that is told by its length.
func AppendBulk(b []byte, k Kind, text string) []byte {
	return append(append(AppendNumber(b, k, int64(len(text))), text...), "\r\n"...)
}

// AppendCommand writes a command behind b.
func AppendCommand(b []byte, words ...string) []byte {
	v := Value{Kind: Array, List: make([]Value, len(words))}
	for i, w := range words {
		v.List[i] = Value{Kind: Bulk, Text: w}
	}
	return Append(b, v)
}
