package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Log takes what a program prints that is no message, and keeps the last of it. It is
// bounded.
type Log struct {
	mu   sync.Mutex
	to   io.Writer
	size int
	last []string
	// part is the beginning of a line that came in parts.
	part []byte
}

// Bounds of a log: its bytes, and how much of its end is kept.
const (
	maxLog    = 16 << 20
	lastLines = 32
	lastBytes = 300 // of each line
)

// NewLog writes to a writer.
func NewLog(to io.Writer) *Log { return &Log{to: to} }

// Last are the last lines, also one that has no end.
func (l *Log) Last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := slices.Clone(l.last)
	if len(l.part) > 0 {
		last = append(last, string(l.part[:min(len(l.part), lastBytes)]))
	}
	return last
}

func (l *Log) line(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, string(text[:min(len(text), lastBytes)]))
	if len(l.last) > lastLines {
		l.last = l.last[1:]
	}
	if l.size > maxLog {
		return
	}
	if l.size += len(text) + 1; l.size > maxLog {
		text = fmt.Appendf(nil, "the log is full: it has %d MiB", maxLog>>20)
	}
	_, _ = l.to.Write(append(slices.Clip(text), '\n'))
}

// Write takes what a program prints, in whatever pieces that comes. What is behind the last line break waits for the next.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.part = append(l.part, b...)
	var whole []string
	for {
		line, rest, ok := strings.Cut(string(l.part), "\n")
		if !ok {
			break
		}
		whole, l.part = append(whole, line), []byte(rest)
	}
	if len(l.part) > MaxLine {
		whole, l.part = append(whole, string(l.part)), nil
	}
	l.mu.Unlock()
	for _, line := range whole {
		l.line([]byte(line))
	}
	return len(b), nil
}

// copy reads lines to the end. Longer ones are cut.
func (l *Log) copy(from io.Reader) {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		text, rest, err := lines.ReadLine()
		if err != nil {
			return
		}
		l.line(text)
		for rest && err == nil {
			_, rest, err = lines.ReadLine()
		}
	}
}

// lines reads lines of at most MaxLine bytes.
type lines struct{ *bufio.Reader }

func newLines(from io.Reader) lines { return lines{bufio.NewReaderSize(from, 64<<10)} }

// next is the next line without its end; io.EOF behind the last.
func (l lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, fmt.Errorf("the lock program sent a line of more than %d bytes", MaxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return nil, io.EOF
		case err == nil:
			line = line[:len(line)-1]
		}
		return line, nil
	}
}
