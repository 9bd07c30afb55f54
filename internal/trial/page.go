package trial

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// writePage writes the page of a result. What its lock programs printed is quoted from the logs beside it.
func writePage(path string, r *report.Result) error {
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Lock == nil {
			continue
		}
		v.Printed = nil
		for _, file := range v.Lock.LogFiles() {
			p, err := printed(filepath.Join(filepath.Dir(path), filepath.FromSlash(file)))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if p.Log = file; len(p.Lines) > 0 {
				v.Printed = append(v.Printed, p)
			}
		}
	}
	return machine.WriteFile(path, func(w io.Writer) error { return report.WriteHTML(w, r) })
}

// What of a log is quoted.
const (
	quotedLines = 12
	quotedBytes = 8 << 10
)

// printed is the end of a log.
func printed(path string) (report.Printed, error) {
	var p report.Printed
	f, err := machine.OpenRegular(path)
	if err != nil {
		return p, err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(max(0, size-quotedBytes), io.SeekStart)
	}
	if err != nil {
		return p, err
	}
	text, err := io.ReadAll(io.LimitReader(f, quotedBytes))
	if err != nil {
		return p, err
	}
	p.Lines = strings.Split(strings.TrimRight(strings.ToValidUTF8(string(text), "�"), "\n"), "\n")
	if p.Cut = size > quotedBytes || len(p.Lines) > quotedLines; p.Cut {
		p.Lines = p.Lines[max(0, len(p.Lines)-quotedLines):]
	}
	if len(p.Lines) == 1 && p.Lines[0] == "" {
		p.Lines = nil
	}
	return p, nil
}
