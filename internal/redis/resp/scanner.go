package resp

import (
	"bytes"
	"errors"
	"strings"
)

// Scanner finds the messages in what one side of a connection sends, in whatever pieces
// that comes. Of the message that it is in it keeps the words. What it needs of memory is
// bounded, whatever is sent.
type Scanner struct {
	// Commands: it is a client that sends. A message may then be a line of words, as
	// people type it.
	Commands bool

	// begun: the message that it is in has begun. open are the lists that have begun.
	begun, whole bool
	open         []list
	// skip are the bytes to come of a bulk, with its line break.
	skip int
	// line is the beginning of a line that came in parts.
	line []byte

	kind  Kind
	null  bool
	words []string
	// word is the beginning of a word that came in parts; keep: the bulk is a word. room
	// is how many bytes of words may still be kept.
	word []byte
	keep bool
	room int
}

// list is one that has begun.
type list struct {
	left int // values to come
	// attribute: it comes before a value, and is none.
	attribute bool
}

// maxWords bounds the bytes of the words that are kept of a message; each needs perWord
// beside its own.
const (
	maxWords = 64 << 10
	perWord  = 16
)

// Next reads the next bytes. n of them belong to the message that it is in, and whole says
// that this one ends with them. After an error nothing can be read any more.
func (s *Scanner) Next(b []byte) (n int, whole bool, err error) {
	if s.whole {
		s.begun, s.whole = false, false
	}
	for n < len(b) && !s.whole {
		var took int
		if s.skip > 0 {
			took = s.payload(b[n:])
		} else if took, err = s.header(b[n:]); err != nil {
			return n, false, err
		}
		n += took
	}
	return n, s.whole, nil
}

// Message is the kind of the message that Next found last, with its words: those of a
// command, the texts in a list, or the one text that it is. A word in the place of a list
// in a list is empty, as is one that is too long to be kept. The last of very many are left
// out.
func (s *Scanner) Message() (kind Kind, words []string) { return s.kind, s.words }

// Null reports that the message that Next found last is null, of whatever kind.
func (s *Scanner) Null() bool { return s.null }

// Kept are the words that a Scanner keeps of a command with these words.
func Kept(words []string) []string {
	s := Scanner{room: maxWords, words: make([]string, 0, len(words))}
	for _, word := range words {
		s.add(true, word)
	}
	return s.words
}

// payload reads of a bulk.
func (s *Scanner) payload(b []byte) (took int) {
	took = min(s.skip, len(b))
	s.skip -= took
	if b = b[:took]; s.keep {
		if s.skip > 0 || len(s.word) > 0 {
			s.word = append(s.word, b...)
			b = s.word
		}
		if s.skip == 0 {
			s.words = append(s.words, string(b[:len(b)-2]))
		}
	}
	if s.skip == 0 {
		s.word = s.word[:0]
		s.complete()
	}
	return took
}

// header reads of the line with which a value begins.
func (s *Scanner) header(b []byte) (took int, err error) {
	end := bytes.IndexByte(b[:min(len(b), maxLine-len(s.line))], '\n')
	if end < 0 {
		if s.line = append(s.line, b[:min(len(b), maxLine-len(s.line))]...); len(s.line) >= maxLine {
			return 0, errLine
		}
		return len(b), nil
	}
	line := b[:end]
	if len(s.line) > 0 {
		s.line = append(s.line, line...)
		line = s.line
	}
	err = s.value(string(bytes.TrimSuffix(line, []byte("\r"))))
	s.line = s.line[:0]
	return end + 1, err
}

// value begins the value with this line.
func (s *Scanner) value(line string) error {
	if !s.begun {
		s.begun, s.words, s.room = true, nil, maxWords
		if s.Commands && !strings.HasPrefix(line, string(byte(Array))) {
			return s.typed(line)
		}
	}
	h, err := parseHead(line)
	if err != nil {
		return err
	}
	if len(s.open) == 0 && h.Kind != Attribute {
		s.kind, s.null = h.Kind, h.Null || h.Kind == Null
	}
	isWord := len(s.open) == 0 && !h.list || len(s.open) == 1 && !s.open[0].attribute && h.Kind != Attribute
	switch {
	case h.list && h.size > 0:
		if len(s.open) == maxDepth {
			return errDepth
		}
		s.add(isWord, "")
		s.open = append(s.open, list{h.size, h.Kind == Attribute})
		return nil
	case h.bulk && !h.Null:
		s.skip, s.keep = h.size+2, isWord && h.size+perWord <= s.room
		if s.keep {
			s.room -= h.size + perWord
		} else {
			s.add(isWord, "")
		}
		return nil
	case h.Kind == Attribute: // an empty one
		return nil
	}
	s.add(isWord, h.Text)
	s.complete()
	return nil
}

// typed takes a line for a command, as people type it.
func (s *Scanner) typed(line string) error {
	if strings.ContainsAny(line, `"'`) {
		return errors.New("a command with quotes, as people type it")
	}
	s.kind, s.null, s.words, s.whole = Array, false, strings.Fields(line), true
	return nil
}

// add keeps a word.
func (s *Scanner) add(isWord bool, text string) {
	if isWord && len(text)+perWord > s.room {
		text = ""
	}
	if isWord && s.room >= perWord {
		s.room -= len(text) + perWord
		s.words = append(s.words, text)
	}
}

// complete says that a value has come to its end.
func (s *Scanner) complete() {
	for n := len(s.open); n > 0; n = len(s.open) {
		l := &s.open[n-1]
		if l.left--; l.left > 0 {
			return
		}
		s.open = s.open[:n-1]
		if l.attribute {
			return // its value comes now
		}
	}
	s.whole = true
}
