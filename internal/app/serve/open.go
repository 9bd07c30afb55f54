package serve

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Anybody may have put anything into the folder. So everything in it is opened here, and
// nowhere else.

// open opens a regular file, and not through a link.
func (h *Handler) open(name string) (*os.File, fs.FileInfo, error) {
	return machine.OpenIn(h.root, name, fs.FileMode.IsRegular)
}

// subfolders lists real folders; a link (reports/latest is one) is none.
func (h *Handler) subfolders(dir string) ([]string, error) {
	f, _, err := machine.OpenIn(h.root, dir, fs.FileMode.IsDir)
	if errors.Is(err, machine.ErrNotRegular) {
		return nil, fs.ErrNotExist
	}
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
