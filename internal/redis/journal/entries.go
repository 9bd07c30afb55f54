package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// parse reads the entries of buf, and returns those whose blocks have come to their ends.
func (f *Follower) parse() (entries []Entry, err error) {
	for f.at < len(f.buf) {
		rest := f.buf[f.at:]
		switch {
		case rest[0] == 0 && f.hole:
			// The file was cut, and the server, which does not append to it (see the package's comment), wrote where it was.
			f.at += len(rest) - len(bytes.TrimLeft(rest, "\x00"))
		case rest[0] == '#':
			line, _, ended := bytes.Cut(rest[:min(len(rest), maxAnnotation)], []byte("\n"))
			if !ended && len(line) == maxAnnotation {
				return entries, fmt.Errorf("an annotation of more than %d bytes", maxAnnotation)
			}
			if !ended {
				return entries, nil
			}
			f.at += len(line) + 1
			if text, is := strings.CutPrefix(strings.TrimSpace(string(line)), "#TS:"); is {
				f.second, _ = strconv.ParseInt(text, 10, 64)
			}
		case rest[0] != byte(resp.Array):
			return entries, fmt.Errorf("%q where an entry was to begin", rest[0])
		default:
			words, n, err := resp.ParseCommand(rest)
			if errors.Is(err, resp.ErrShort) {
				return entries, nil
			}
			if err == nil {
				entries, err = f.add(entries, words)
			}
			if err != nil {
				return entries, err
			}
			f.at += n
			f.hole = false
		}
		if !f.multi {
			f.whole = f.offset()
		}
	}
	return entries, nil
}

// add takes an entry of the file.
func (f *Follower) add(entries []Entry, words []string) ([]Entry, error) {
	if len(words) == 0 {
		return entries, errors.New("an entry without words")
	}
	// Redis 6.0 writes EXEC as its client did.
	switch is := strings.EqualFold; {
	case is(words[0], "select") && len(words) == 2:
		db, err := strconv.ParseUint(words[1], 10, 31)
		if err != nil {
			return entries, fmt.Errorf("SELECT of %q, which is no database", words[1])
		}
		f.db = int(db)
	case is(words[0], "multi") && len(words) == 1:
		if f.multi {
			return entries, errors.New("MULTI within MULTI")
		}
		f.multi, f.dbBefore, f.secondBefore = true, f.db, f.second
	case is(words[0], "exec") && len(words) == 1:
		if !f.multi {
			return entries, errors.New("EXEC without MULTI")
		}
		for i := range f.block {
			f.block[i].Kind, f.block[i].First, f.block[i].Last = f.kind, i == 0, i == len(f.block)-1
		}
		entries = append(entries, f.block...)
		f.multi, f.block = false, nil
	case f.multi:
		f.block = append(f.block, Entry{Words: words, DB: f.db, Second: f.second})
	default:
		entries = append(entries, Entry{Kind: f.kind, Words: words, DB: f.db, First: true, Last: true, Second: f.second})
	}
	return entries, nil
}
