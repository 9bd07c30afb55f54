// Package observe carries out `sim observe`: it looks at what befell the keys of locks, on a server that is in use or in a file that
// says what one did, and has package keystory tell it. It never writes to a server.
package observe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
)

// Read says what was read of a file.
type Read struct {
	// Notes say what the file cannot tell.
	Notes []string
}

// longestLine bounds a line of MONITOR: what a client sends at once is not longer with Redis' own settings.
const longestLine = 64 << 20

// File reads a saved output of MONITOR or an append-only file into a story. stdin is read for the path "-".
func File(ctx context.Context, path string, stdin io.Reader, s *keystory.Story) (Read, error) {
	if path == "-" {
		return lines(ctx, stdin, s)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Read{}, err
	}
	if IsJournal(path, info) {
		return entries(ctx, path, s)
	}
	if !info.Mode().IsRegular() {
		return Read{}, fmt.Errorf("%s is neither a file nor the folder of an append-only file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Read{}, err
	}
	defer func() { _ = f.Close() }()
	return lines(ctx, f, s)
}

// IsJournal reports that a path is an append-only file: a folder, a manifest, or a file that begins like one.
func IsJournal(path string, info os.FileInfo) bool {
	if info.IsDir() || strings.HasSuffix(filepath.Base(path), ".manifest") {
		return true
	}
	start := begin(path, info)
	return strings.HasPrefix(start, "*") || strings.HasPrefix(start, "REDIS") || strings.HasPrefix(start, "#TS:")
}

// IsMonitor reports that a file is a saved output of MONITOR.
func IsMonitor(path string, info os.FileInfo) bool {
	text := begin(path, info)
	for line := range strings.Lines(text) {
		if _, err := parseLine(line); err == nil {
			return true
		}
	}
	return false
}

// begin is how a file begins; empty for what is none: a pipe might never be read.
func begin(path string, info os.FileInfo) string {
	if !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 4096)
	n, _ := io.ReadFull(f, b)
	return string(b[:n])
}

// parseLine reads a line as redis-cli prints it, or as the server sends it.
func parseLine(line string) (monitor.Line, error) {
	return monitor.Parse(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "+"))
}

// ofReplica says what a replica shows.
const ofReplica = "it shows what its primary has it do, and neither which client did it nor what that compared: " +
	"it is told as an append-only file is"

// mostPeeked lines are looked at, at most, to tell whether they are a replica's.
const mostPeeked = 10_000

// origin tells whose lines those of a file are.
type origin struct {
	waiting []monitor.Line
	told    bool
	// writer is the one connection that writes; absolute: it sets keys with an end, and never relatively, or under a condition.
	writer   string
	absolute bool
}

// take takes in a line, and returns those that can be told: none while nobody knows whose they are.
func (o *origin) take(l monitor.Line, s *keystory.Story) {
	if o.told {
		s.SeeLine(l)
		return
	}
	o.waiting = append(o.waiting, l)
	if o.primary(&l) || len(o.waiting) == mostPeeked {
		o.tell(s)
	}
}

// tell has the story take in what waits.
func (o *origin) tell(s *keystory.Story) {
	s.SetReplica(o.absolute)
	for _, l := range o.waiting {
		s.SeeLine(l)
	}
	o.waiting, o.told = nil, true
}

// primary reports that a replica shows no such line.
func (o *origin) primary(l *monitor.Line) bool {
	name := strings.ToUpper(l.Args[0])
	switch name {
	case "SET", "DEL", "UNLINK", "PEXPIREAT":
		if o.writer == "" {
			o.writer = l.Source
		}
		o.absolute = o.absolute || len(l.Args) == 5 && name == "SET" && strings.EqualFold(l.Args[3], "PXAT")
		if l.Source == o.writer && (name != "SET" || len(l.Args) == 3 || len(l.Args) == 5 && strings.EqualFold(l.Args[3], "PXAT")) {
			return false
		}
	case "EVAL", "EVALSHA", "FCALL", "SETEX", "PSETEX", "EXPIRE", "PEXPIRE", "DELIFEQ", "DELEX", "WATCH":
	default:
		return l.Source == monitor.Script
	}
	o.absolute = false
	return true
}

// wholeLines splits lines; torn: behind the last one is what is none, since it does not end.
func wholeLines(torn *bool) bufio.SplitFunc {
	return func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF {
			*torn = len(data) > 0
			return len(data), nil, nil
		}
		return 0, nil, nil
	}
}

// lines reads a saved output of MONITOR.
func lines(ctx context.Context, r io.Reader, s *keystory.Story) (read Read, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), longestLine)
	other, first, torn := 0, "", false
	in.Split(wholeLines(&torn))
	var o origin
	for n := 0; in.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			break // what was read until now is told
		}
		l, err := parseLine(in.Text())
		switch {
		case err == nil:
			o.take(l, s)
		case strings.TrimSpace(in.Text()) != "" && strings.TrimSpace(in.Text()) != "OK":
			if other++; other == 1 {
				first = in.Text()
			}
		}
	}
	if !o.told {
		o.tell(s)
	}
	s.End()
	if err := in.Err(); err != nil {
		return read, fmt.Errorf("after %d lines: %w", s.Lines, err)
	}
	if s.Lines == 0 && other > 0 {
		return read, fmt.Errorf("neither an output of MONITOR nor an append-only file: it begins with %.60q", first)
	}
	if s.Lines == 0 {
		return read, errors.New("there is no command in it, or none that is whole: a line ends with a newline")
	}
	if torn {
		read.Notes = append(read.Notes, "the file ends within a line, which is left out: it may be a part of a command")
	}
	if o.absolute {
		read.Notes = append(read.Notes,
			"all that is written comes over one connection, with ends and without conditions, as on a replica: "+ofReplica)
	}
	if other > 0 {
		read.Notes = append(read.Notes, fmt.Sprintf("%d lines are none of MONITOR; the first is %.60q", other, first))
	}
	read.Notes = append(read.Notes, "what was there before the first line is not known, so neither is the first holder of each key")
	return read, nil
}

// entries reads an append-only file.
func entries(ctx context.Context, path string, s *keystory.Story) (read Read, err error) {
	f := journal.Follow(path)
	defer func() { _ = f.Close() }()
	gap, timed := false, false
	for ctx.Err() == nil {
		list, err := f.Read()
		for _, e := range list {
			gap, timed = gap || e.Kind == journal.Gap, timed || e.Second > 0
			s.SeeEntry(e)
		}
		if err != nil && s.Lines == 0 {
			return read, err
		}
		if err != nil { // what stands before is told
			read.Notes = append(read.Notes, fmt.Sprintf("nothing can be read behind this: %v", err))
			break
		}
		if list == nil {
			break
		}
	}
	torn, cut := f.Torn()
	s.End()
	if s.Lines == 0 && len(s.Locks()) == 0 && !gap {
		return read, errors.New("there is no append-only file, or nothing in it")
	}
	if gap {
		read.Notes = append(read.Notes, "the base is an RDB file, which is not read: what was there before the first entry is not known")
	}
	if !timed {
		read.Notes = append(read.Notes, "the file has no times (aof-timestamp-enabled no): it tells the order alone")
	}
	if cut {
		read.Notes = append(read.Notes, fmt.Sprintf("the file ends within a command, at byte %d", torn.Offset))
	}
	read.Notes = append(read.Notes, "an append-only file has no connections, and nothing that changed nothing: "+
		"who removed a key, and who asked in vain, it does not tell")
	return read, nil
}
