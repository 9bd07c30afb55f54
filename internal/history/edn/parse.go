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

// pair is an entry of a map. Maps are lists of pairs: they are small, and their
// keys need not be comparable in Go.
type pair struct{ key, value any }

// parser reads EDN forms one after the other. It knows nil, booleans, integers
// (int64), other numbers (as Symbol), strings, characters (as string), keywords,
// symbols, lists, vectors and sets (all []any), maps ([]pair), tags, which it drops,
// discarded forms and comments.
type parser struct {
	r    *bufio.Reader
	line int
	size int // of the present form
}

func newParser(r io.Reader) *parser { return &parser{r: bufio.NewReaderSize(r, 1<<16), line: 1} }

var errClosed = errors.New("a closing bracket without an opening one")

func (p *parser) next() (byte, error) {
	c, err := p.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		p.line++
	}
	if p.size++; p.size > maxForm {
		return 0, fmt.Errorf("an operation of more than %d bytes", maxForm)
	}
	return c, nil
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
func (p *parser) skip() (byte, error) {
	for {
		c, err := p.next()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\n', '\r', ',', '\f':
		case ';':
			for c != '\n' {
				if c, err = p.next(); err != nil {
					return 0, err
				}
			}
		default:
			return c, nil
		}
	}
}

// form reads one form. At the end of the input it returns io.EOF, inside a form
// io.ErrUnexpectedEOF.
func (p *parser) form(depth int) (any, error) {
	c, err := p.skip()
	if err != nil {
		return nil, err
	}
	return p.formFrom(c, depth)
}

// inner reads a form that must be there.
func (p *parser) inner(depth int) (any, error) {
	v, err := p.form(depth)
	return v, unexpected(err)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (p *parser) formFrom(c byte, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch c {
	case '(':
		return p.sequence(')', depth)
	case '[':
		return p.sequence(']', depth)
	case '{':
		return p.mapping(depth)
	case ')', ']', '}':
		return nil, errClosed
	case '"':
		return p.text()
	case '\\':
		return p.character()
	case '#':
		return p.dispatch(depth)
	}
	word, err := p.word(c)
	if err != nil {
		return nil, err
	}
	return atom(word)
}

func (p *parser) sequence(end byte, depth int) ([]any, error) {
	list := []any{}
	for {
		c, err := p.skip()
		if err != nil {
			return nil, unexpected(err)
		}
		if c == end {
			return list, nil
		}
		v, err := p.formFrom(c, depth+1)
		if errors.Is(err, errDiscarded) {
			continue
		}
		if err != nil {
			return nil, unexpected(err)
		}
		list = append(list, v)
	}
}

func (p *parser) mapping(depth int) ([]pair, error) {
	list, err := p.sequence('}', depth)
	if err != nil {
		return nil, err
	}
	if len(list)%2 != 0 {
		return nil, errors.New("a map with a key that has no value")
	}
	m := make([]pair, 0, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		m = append(m, pair{list[i], list[i+1]})
	}
	return m, nil
}

var errDiscarded = errors.New("a discarded form")

// dispatch reads what a # begins: a set, a discarded form or a tagged form,
// whose tag (#jepsen.history.Op) says nothing that we need.
func (p *parser) dispatch(depth int) (any, error) {
	c, err := p.next()
	if err != nil {
		return nil, unexpected(err)
	}
	switch c {
	case '{':
		return p.sequence('}', depth)
	case '_':
		_, err := p.inner(depth + 1)
		if err != nil && !errors.Is(err, errDiscarded) {
			return nil, err
		}
		return nil, errDiscarded
	case '#':
		word, err := p.word(c) // ##NaN, ##Inf
		return Symbol(word), err
	}
	if _, err := p.word(c); err != nil {
		return nil, err
	}
	for {
		v, err := p.inner(depth + 1)
		if errors.Is(err, errDiscarded) {
			continue
		}
		return v, err
	}
}

func (p *parser) text() (string, error) {
	var b strings.Builder
	for {
		c, err := p.next()
		if err != nil {
			return "", unexpected(err)
		}
		switch c {
		case '"':
			return b.String(), nil
		case '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
		}
	}
}

func (p *parser) escape(b *strings.Builder) error {
	c, err := p.next()
	if err != nil {
		return unexpected(err)
	}
	switch c {
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
			if hex[i], err = p.next(); err != nil {
				return unexpected(err)
			}
		}
		n, err := strconv.ParseUint(string(hex[:]), 16, 32)
		if err != nil {
			return fmt.Errorf("no such character: \\u%q", hex[:])
		}
		b.WriteRune(rune(n))
	default:
		return fmt.Errorf("no such escape: \\%c", c)
	}
	return nil
}

func (p *parser) character() (string, error) {
	c, err := p.next()
	if err != nil {
		return "", unexpected(err)
	}
	word, err := p.word(c)
	if err != nil {
		return "", err
	}
	switch word {
	case "newline":
		return "\n", nil
	case "space":
		return " ", nil
	case "tab":
		return "\t", nil
	case "return":
		return "\r", nil
	}
	return word, nil
}

// word reads on to the end of a token.
func (p *parser) word(first byte) (string, error) {
	word := []byte{first}
	for {
		c, err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if strings.IndexByte(" \t\n\r,\f()[]{}\";", c) >= 0 {
			p.back(c)
			break
		}
		word = append(word, c)
	}
	if !utf8.Valid(word) {
		return "", fmt.Errorf("not UTF-8: %q", word)
	}
	return string(word), nil
}

func atom(word string) (any, error) {
	switch word {
	case "nil":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if len(word) > 1 && word[0] == ':' {
		return Keyword(word[1:]), nil
	}
	digits := strings.TrimLeft(word, "+-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return Symbol(word), nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(word, "N"), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("the number %s does not fit into 64 bits", word)
	}
	if err != nil {
		return Symbol(word), nil // a fraction or a ratio
	}
	return n, nil
}
