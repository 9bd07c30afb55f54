package locklog

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Log is what was read of one or several files.
type Log struct {
	// MaxLines bounds it; 0: history.DefaultMaxEvents.
	MaxLines int
	lines    int
	files    []string
	byName   map[name]*process
	// processes are in the order in which they were met.
	processes []*process
	// Truncated: a file ends in the middle of a line.
	Truncated bool
}

// name is that of a process.
type name struct{ host, process string }

// process is a process of an application, with its lines.
type process struct {
	name
	entries []entry
}

// entry is a line, and where it stands.
type entry struct {
	Line
	file, at int
}

// errorAt is what is wrong with a line.
func (l *Log) errorAt(e *entry, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", l.files[e.file], e.at, fmt.Errorf(format, args...))
}

// Read reads a file. A last line without its end is what a killed process leaves, and is dropped.
func (l *Log) Read(file string, r io.Reader) error {
	if l.byName == nil {
		l.byName = make(map[name]*process)
	}
	most := cmp.Or(l.MaxLines, history.DefaultMaxEvents)
	l.files = append(l.files, file)
	texts := make(map[string]string) // lines have the same few texts again and again
	br := bufio.NewReaderSize(r, 1<<16)
	for at := 1; ; at++ {
		e := entry{file: len(l.files) - 1, at: at}
		text, complete, err := history.ReadLine(br)
		if err != nil {
			return l.errorAt(&e, "%w", err)
		}
		if !complete {
			l.Truncated = l.Truncated || len(text) > 0
			return nil
		}
		if l.lines++; l.lines > most {
			return l.errorAt(&e, "more than %d lines", most)
		}
		e.Line, err = parse(text)
		if len(text) == 0 || errors.Is(err, errTorn) {
			l.Truncated = l.Truncated || len(text) > 0
			continue
		}
		if err != nil {
			return l.errorAt(&e, "%w", err)
		}
		for _, t := range []*string{&e.Host, &e.Process, &e.Lock} {
			if texts[*t] == "" && len(texts) < 1<<16 {
				texts[*t] = *t
			}
			*t = cmp.Or(texts[*t], *t)
		}
		n := name{e.Host, e.Process}
		p := l.byName[n]
		if p == nil {
			p = &process{name: n}
			l.byName[n], l.processes = p, append(l.processes, p)
		}
		p.entries = append(p.entries, e)
	}
}

// Hosts are how many hosts wrote it.
func (l *Log) Hosts() int {
	hosts := make(map[string]bool)
	for _, p := range l.processes {
		hosts[p.host] = true
	}
	return len(hosts)
}

// order sorts a process's lines. The same line may come twice: files are copied, and collected again.
func (l *Log) order(p *process) error {
	slices.SortStableFunc(p.entries, func(a, b entry) int { return cmp.Compare(a.Line.Line, b.Line.Line) })
	list := p.entries[:1]
	for i := 1; i < len(p.entries); i++ {
		e, before := &p.entries[i], &list[len(list)-1]
		if e.Line.Line == before.Line.Line {
			if !e.same(&before.Line) {
				return l.errorAt(e, "line %d of process %q differs from that at %s:%d: no two processes may have host and process in common",
					e.Line.Line, p.process, l.files[before.file], before.at)
			}
			continue
		}
		if e.Mono < before.Mono {
			return l.errorAt(e, "mono %d goes back: line %d of the process has %d", e.Mono, before.Line.Line, before.Mono)
		}
		list = append(list, *e)
	}
	p.entries = list
	return nil
}

// same reports that two lines tell the same.
func (l *Line) same(o *Line) bool {
	a, b := *l, *o
	for _, x := range []struct{ a, b **int64 }{{&a.TTL, &b.TTL}, {&a.Validity, &b.Validity}, {&a.Token, &b.Token}, {&a.Took, &b.Took}} {
		if (*x.a == nil) != (*x.b == nil) || *x.a != nil && **x.a != **x.b {
			return false
		}
		*x.a, *x.b = nil, nil
	}
	return a == b
}

// errEmpty is that of a log without lines.
var errEmpty = errors.New("the lock log has no whole line")
