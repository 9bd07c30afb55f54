package edn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on files that somebody else wrote.
const (
	maxDepth = 32
	// maxForm is the size of one operation in bytes.
	maxForm = 1 << 20
)

// Keyword is an EDN keyword without its colon.
type Keyword string

// Symbol is an EDN symbol.
type Symbol string

// set is an EDN set, in the order of the file.
type set []any

// pair is an entry of a map. Maps are lists of pairs: they are small, and their
// keys need not be comparable in Go.
type pair struct{ key, value any }

// parser reads EDN forms one after the other. It knows nil, booleans, integers
// (int64), other numbers (as Symbol), strings, characters (as string), keywords,
// symbols, lists and vectors ([]any), sets, maps ([]pair), tags, which it drops,
// discarded forms and comments.
type parser struct {
	r    *bufio.Reader
	line int
	size int // of the present form
}

func newParser(r io.Reader) *parser { return &parser{r: bufio.NewReaderSize(r, 1<<16), line: 1} }

// failure is what the parser panics with where a form cannot be read: forms are nested,
// and nothing can be done about it before begin or read.
type failure struct{ error }

func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// begin goes to the next byte that means something. At the end of the input it
// returns io.EOF.
func (p *parser) begin() (c byte, err error) {
	defer catch(&err)
	return p.skip(), nil
}

// read reads the form that begins with c; false: it is a discarded one. At the end of
// the input it returns io.ErrUnexpectedEOF.
func (p *parser) read(c byte) (v any, some bool, err error) {
	defer func() { err = unexpected(err) }()
	defer catch(&err)
	v, some = p.form(c, 1)
	return v, some, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (p *parser) next() byte {
	c, err := p.r.ReadByte()
	if err != nil {
		panic(failure{err})
	}
	if c == '\n' {
		p.line++
	}
	if p.size++; p.size > maxForm {
		fail("an operation of more than %d bytes", maxForm)
	}
	return c
}

func (p *parser) back(c byte) {
	// A byte was just read, so there is one to unread.
	_ = p.r.UnreadByte()
	p.size--
	if c == '\n' {
		p.line--
	}
}

// skip goes to the next byte that means something.
func (p *parser) skip() byte {
	for {
		c := p.next()
		switch c {
		case ' ', '\t', '\n', '\r', ',', '\f':
		case ';':
			for c != '\n' {
				c = p.next()
			}
		default:
			return c
		}
	}
}

// form reads the form that begins with c; false: it is a discarded one.
func (p *parser) form(c byte, depth int) (v any, some bool) {
	if depth > maxDepth {
		fail("nested more than %d deep", maxDepth)
	}
	switch c {
	case '(':
		return p.sequence(')', depth), true
	case '[':
		return p.sequence(']', depth), true
	case '{':
		return p.mapping(depth), true
	case ')', ']', '}':
		fail("a closing bracket without an opening one")
	case '"':
		return p.text(), true
	case '\\':
		return p.character(), true
	case '#':
		return p.dispatch(depth)
	}
	return atom(p.word(c)), true
}

func (p *parser) sequence(end byte, depth int) []any {
	list := []any{}
	for {
		c := p.skip()
		if c == end {
			return list
		}
		if v, some := p.form(c, depth+1); some {
			list = append(list, v)
		}
	}
}

func (p *parser) mapping(depth int) []pair {
	list := p.sequence('}', depth)
	if len(list)%2 != 0 {
		fail("a map with a key that has no value")
	}
	m := make([]pair, 0, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		m = append(m, pair{list[i], list[i+1]})
	}
	return m
}

// dispatch reads what a # begins: a set, a discarded form or a tagged form,
// whose tag (#jepsen.history.Op) says nothing that we need.
func (p *parser) dispatch(depth int) (v any, some bool) {
	c := p.next()
	switch c {
	case '{':
		return set(p.sequence('}', depth)), true
	case '_':
		p.form(p.skip(), depth+1)
		return nil, false
	case '#':
		return Symbol(p.word(c)), true // ##NaN, ##Inf
	}
	p.word(c)
	for !some {
		v, some = p.form(p.skip(), depth+1)
	}
	return v, some
}

func (p *parser) text() string {
	var b strings.Builder
	for {
		switch c := p.next(); c {
		case '"':
			return b.String()
		case '\\':
			p.escape(&b)
		default:
			b.WriteByte(c)
		}
	}
}

func (p *parser) escape(b *strings.Builder) {
	switch c := p.next(); c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case '"', '\\':
		b.WriteByte(c)
	case 'u':
		var hex [4]byte
		for i := range hex {
			hex[i] = p.next()
		}
		n, err := strconv.ParseUint(string(hex[:]), 16, 32)
		if err != nil {
			fail("no such character: \\u%q", hex[:])
		}
		b.WriteRune(rune(n))
	default:
		fail("no such escape: \\%c", c)
	}
}

var characters = map[string]string{"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}

func (p *parser) character() string {
	word := p.word(p.next())
	if c, ok := characters[word]; ok {
		return c
	}
	return word
}

// word reads on to the end of a token, or of the input.
func (p *parser) word(first byte) string {
	word := []byte{first}
	for {
		if _, err := p.r.Peek(1); errors.Is(err, io.EOF) {
			break
		}
		c := p.next()
		if strings.IndexByte(" \t\n\r,\f()[]{}\";", c) >= 0 {
			p.back(c)
			break
		}
		word = append(word, c)
	}
	if !utf8.Valid(word) {
		fail("not UTF-8: %q", word)
	}
	return string(word)
}

func atom(word string) any {
	switch word {
	case "nil":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if len(word) > 1 && word[0] == ':' {
		return Keyword(word[1:])
	}
	digits := strings.TrimLeft(word, "+-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return Symbol(word)
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(word, "N"), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		fail("the number %s does not fit into 64 bits", word)
	}
	if err != nil {
		return Symbol(word) // a fraction or a ratio
	}
	return n
}
