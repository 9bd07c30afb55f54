package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenRegular opens a file to read it, where it is one: it does not wait for who may write to a
// pipe, and wakes no device.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %w", path, ErrNotRegular)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ErrNotRegular says that something of a name is there, and that it is no regular file. Its like is not opened: a pipe would wait for its
// other end for ever, and a device does whatever devices do.
var ErrNotRegular = errors.New("no regular file")

// OpenIn opens what is in a folder and of the right kind, to read it. No link is followed, and nothing outside the folder is opened.
func OpenIn(root *os.Root, name string, isRight func(fs.FileMode) bool) (*os.File, fs.FileInfo, error) {
	wrong := fmt.Errorf("%s is %w", name, ErrNotRegular)
	info, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !isRight(info.Mode()) {
		return nil, nil, wrong
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0) // it may be replaced meanwhile, by a pipe for example
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !isRight(info.Mode()) {
		err = wrong
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadRegular reads such a file, and of a larger one the first bytes.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// WriteFile makes a file, and its folder. It takes its name once it is whole: on an error what
// was there before stays, and nothing else.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("failed to write %q: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".sim-*")
	if err != nil {
		return fmt.Errorf("failed to write %q: %w", path, err)
	}
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("failed to write %q: %w", path, err)
	}
	return nil
}
