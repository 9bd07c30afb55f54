package serve

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Anybody may have put anything into the folder. So everything in it is opened here, and
// nowhere else.

// errNoFile: something of that name is there, but it is no file. Its like is never opened: a
// pipe would wait for its other end for ever, and a device does whatever devices do.
var errNoFile = errors.New("not a regular file")

// open opens a regular file, and not through a link.
func (h *Handler) open(name string) (*os.File, fs.FileInfo, error) {
	return h.openAs(name, fs.FileMode.IsRegular, errNoFile)
}

func (h *Handler) openAs(name string, right func(fs.FileMode) bool, wrong error) (*os.File, fs.FileInfo, error) {
	info, err := h.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !right(info.Mode()) {
		return nil, nil, wrong
	}
	// It may be replaced meanwhile. Without O_NONBLOCK a pipe would never be opened.
	f, err := h.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !right(info.Mode()) {
		err = wrong
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// subfolders lists real folders; a link (reports/latest is one) is none.
func (h *Handler) subfolders(dir string) ([]string, error) {
	f, _, err := h.openAs(dir, fs.FileMode.IsDir, fs.ErrNotExist)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	var names []string
	for _, e := range entries {
		if e.IsDir() && plainName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names, err
}

// reason says why something could not be read, without the paths of this machine.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return shortened(err.Error(), 300)
}

// shortened cuts what anybody may have made long.
func shortened(s string, limit int) string {
	if r := []rune(s[:min(len(s), 4*limit)]); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
