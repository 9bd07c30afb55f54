package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxManifest bounds a manifest, which has a line for each file.
const maxManifest = 1 << 20

// list are the files of the journal in their order, or nil where there is none yet.
func (f *Follower) list() ([]step, error) {
	if f.index == "" {
		index, err := find(f.path)
		if index == "" || err != nil {
			return nil, err
		}
		f.index, f.manifest = index, strings.HasSuffix(index, ".manifest")
	}
	file, err := open(f.index)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	list := []step{{path: f.index}}
	if f.manifest {
		if list, err = readManifest(file); err != nil {
			return nil, fmt.Errorf("%s: %w", f.index, err)
		}
	}
	f.seen = info
	return list, nil
}

// find finds the manifest, or the journal itself, as versions before 7 write it.
func find(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, pattern := range []string{"*.manifest", "appendonlydir/*.manifest", "*.aof"} {
		all, err := filepath.Glob(filepath.Join(escape(path), pattern))
		if err != nil {
			return "", err
		}
		var found []string
		for _, one := range all {
			name := filepath.Base(one)
			if !strings.HasPrefix(name, "temp-") && !strings.Contains(name, ".base.") && !strings.Contains(name, ".incr.") {
				found = append(found, one)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%s has the journals of several servers: name one, for example %s", path, found[0])
		}
	}
	return "", nil
}

// escape lets a folder's name stand for itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// readManifest reads the names of the base and of the increments. Those that are history have none of the data.
func readManifest(file *os.File) (list []step, err error) {
	text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("more than %d bytes", maxManifest)
	}
	number, last := 0, int64(0)
	for line := range strings.Lines(string(text)) {
		number++
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, seq, kind, err := manifestLine(strings.TrimSpace(line))
		if err == nil {
			err = mayFollow(kind, seq, len(list), last)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		path := filepath.Join(filepath.Dir(file.Name()), name)
		if kind == "b" {
			list = append(list, step{path: path, kind: Base})
		}
		if kind == "i" {
			list, last = append(list, step{path: path}), seq
		}
	}
	if list == nil {
		return nil, errors.New("no base and no increment")
	}
	return list, nil
}

// mayFollow says why a file cannot stand behind so many others, of which the last increment has the number last; nil: it can.
func mayFollow(kind string, seq int64, others int, last int64) error {
	if kind == "b" && others > 0 {
		return errors.New("a base that is not the first file")
	}
	if kind == "i" && seq <= last {
		return errors.New("increments that are not in order")
	}
	if kind != "b" && kind != "i" && kind != "h" {
		return fmt.Errorf("a file of type %q", kind)
	}
	return nil
}

// manifestLine reads pairs of a name and a value. Later versions have more of them.
func manifestLine(line string) (name string, seq int64, kind string, err error) {
	for line != "" {
		var key, value string
		key, line, _ = strings.Cut(line, " ")
		if quoted, err := strconv.QuotedPrefix(line); err == nil && strings.HasPrefix(line, `"`) {
			value, _ = strconv.Unquote(quoted)
			line = strings.TrimPrefix(line[len(quoted):], " ")
		} else {
			value, line, _ = strings.Cut(line, " ")
		}
		switch key {
		case "file":
			name = value
		case "seq":
			if seq, err = strconv.ParseInt(value, 10, 64); err != nil {
				return "", 0, "", fmt.Errorf("a file's number that is %q", value)
			}
		case "type":
			kind = value
		}
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return "", 0, "", fmt.Errorf("a file's name that is %q", name)
	}
	return name, seq, kind, nil
}

// open opens a file of the journal, and nothing else that may have its name: a pipe would never be open.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return os.Open(path)
}

// isRDB says whether the file begins with a snapshot in Redis' own format.
func (f *Follower) isRDB(path string) bool {
	file, err := open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	if magic(file) {
		f.rdb = path
		return true
	}
	return false
}

func magic(file *os.File) bool {
	var b [5]byte
	_, err := file.ReadAt(b[:], 0)
	return err == nil && string(b[:]) == "REDIS"
}
