package trial

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// NewRunDir makes the folder <out>/<scenario>/<stamp>-<seed>, with a number
// behind it where another run took that name in the same second.
func NewRunDir(out, name string, started time.Time, seed uint64) (string, error) {
	parent := filepath.Join(out, name)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("failed to make the folder for runs: %w", err)
	}
	if info, err := os.Lstat(parent); err != nil || !info.IsDir() { // somebody else may have made the link
		return "", errors.Join(fmt.Errorf("%q is a link: runs are not stored where it leads", parent), err)
	}
	base := fmt.Sprintf("%s-%d", started.Format("20060102-150405"), seed)
	for n := 1; ; n++ {
		dir := filepath.Join(parent, base)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return filepath.Abs(dir)
		}
		if !errors.Is(err, os.ErrExist) || n == 1000 {
			return "", fmt.Errorf("failed to make the run's folder: %w", err)
		}
	}
}

// Files of a run's folder.
const (
	resultFile = "result.json"
	// startedFile is the result as it is before the run: that of a run that was killed.
	startedFile  = "started.json"
	scenarioFile = "scenario.yaml"
	historyFile  = "history.jsonl"
)

// begin writes what a run is into its folder, so that it can be judged should it be killed.
func (t *trial) begin() error {
	r := t.newResult()
	r.Interrupted = true
	for i := range t.subjects {
		v := &t.subjects[i]
		r.Variants = append(r.Variants, report.Variant{Name: v.Name, Settings: v.Settings, Lock: t.lock(v), NotApplicable: v.notApplicable,
			Interrupted: v.notApplicable == ""})
	}
	return errors.Join(
		machine.WriteFile(filepath.Join(t.dir, scenarioFile), func(w io.Writer) error { _, err := io.WriteString(w, t.Text); return err }),
		machine.WriteFile(filepath.Join(t.dir, startedFile), func(w io.Writer) error { return report.WriteJSON(w, r) }),
	)
}

// store writes result and page into the run's folder and points latest at it.
func (t *trial) store(r *report.Result) (page string, err error) {
	page = filepath.Join(t.dir, "report.html")
	err = errors.Join(
		machine.WriteFile(filepath.Join(t.dir, resultFile), func(w io.Writer) error { return report.WriteJSON(w, r) }),
		writePage(page, r),
		t.storeAside(r),
		pointLatest(t.Out, t.dir),
	)
	if err == nil {
		err = os.Remove(filepath.Join(t.dir, startedFile))
	}
	return page, err
}

// pointing is held by who points latest at a run: scenarios end side by side.
var pointing sync.Mutex

// pointLatest replaces the link <out>/latest, in one step where the system can. Where
// links cannot be made there is none: better that than one to an older run.
func pointLatest(out, dir string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	target, err := filepath.Rel(out, dir)
	if err != nil {
		return err
	}
	pointing.Lock()
	defer pointing.Unlock()
	// The name is the run's own: another process may use the folder, too.
	name := fmt.Sprintf(".latest-%d-%s", os.Getpid(), strings.ReplaceAll(target, string(filepath.Separator), "-"))
	latest, temporary := filepath.Join(out, "latest"), filepath.Join(out, name)
	defer func() { _ = os.Remove(temporary) }()
	if linkFolder(out, name, target) == nil && os.Rename(temporary, latest) == nil {
		return nil
	}
	if err := os.Remove(latest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("failed to point latest at the run: %w", err)
	}
	_ = os.Rename(temporary, latest) // Windows renames a link only to a name that is free
	return nil
}

// linkFolder makes a link in a folder to another one below it.
func linkFolder(folder, name, target string) error {
	err := os.Symlink(target, filepath.Join(folder, name))
	if err != nil && runtime.GOOS == "windows" { // which lets few users make symbolic links, but all make junctions
		junction := exec.Command("cmd", "/c", "mklink", "/J", name, target)
		junction.Dir = folder
		err = junction.Run()
	}
	return err
}
