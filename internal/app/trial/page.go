package trial

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// writePage writes the page of a result. What its lock programs printed is quoted from the logs beside it.
func writePage(path string, r *report.Result) error {
	folder, err := os.OpenRoot(filepath.Dir(path)) // a stranger's folder may have links that lead out of it
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Lock == nil {
			continue
		}
		v.Printed = nil
		for _, file := range v.Lock.LogFiles() {
			p, err := printed(folder, filepath.FromSlash(file))
			if err != nil {
				continue // the page links the log, and is worth more than a quotation
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
func printed(folder *os.Root, file string) (report.Printed, error) {
	var p report.Printed
	f, _, err := machine.OpenIn(folder, file, fs.FileMode.IsRegular)
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
