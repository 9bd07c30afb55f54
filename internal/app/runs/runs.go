// Package runs knows the folder in which runs are stored: what its files are called, how the folder of a run is made, and which run is the
// newest.
package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Files of a run's folder.
const (
	Result = "result.json"
	// Started is the result as it is before the run: that of a run that was killed.
	Started  = "started.json"
	Scenario = "scenario.yaml"
	Report   = "report.html"
	// History is that of a variant, in the variant's folder.
	History = "history.jsonl"
	// Explanation is beside it: from when on a violation was certain.
	Explanation = "explain.json"
	// HistoryAgain is beside it where the same run, made again with the same seed, came out otherwise.
	HistoryAgain = "history-again.jsonl"
)

// Files of an audit's folder.
const (
	Card         = "card.json"
	CardPage     = "card.html"
	CardMarkdown = "card.md"
)

// Beside the folders of runs: the page of the last suite, how that ended, and a link to the newest run.
const (
	Index  = "index.html"
	Last   = "last.json"
	Latest = "latest"
)

// Audits is the folder of audits.
const Audits = "audit"

// Make makes the folder <out>/<scenario>/<stamp>-<seed>, with a number
// behind it where another run took that name in the same second.
func Make(out, name string, started time.Time, seed uint64) (string, error) {
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

// Newest is the folder of the newest run; empty: there is none.
func Newest(out string) string {
	dir, err := filepath.EvalSymlinks(filepath.Join(out, Latest))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, Result)); err != nil {
		return ""
	}
	return dir
}

// pointing is held by who points latest at a run: scenarios end side by side.
var pointing sync.Mutex

// PointLatest replaces the link <out>/latest, in one step where the system can. Where
// links cannot be made there is none: better that than one to an older run.
func PointLatest(out, dir string) error {
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
	latest, temporary := filepath.Join(out, Latest), filepath.Join(out, name)
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

// Missing says of what a user named as a run, or a folder of runs, that it is not there, and what is; nil: it is there.
func Missing(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		latest := filepath.Join(folder, Latest)
		if _, err := os.Stat(latest); err == nil {
			return words.WithHint(fmt.Errorf("no file or folder %q", path), "the newest run there is "+latest)
		}
		if folder == filepath.Dir(folder) {
			return words.WithHint(fmt.Errorf("no file or folder %q", path), "sim run leaves its runs in reports/, the newest as reports/latest")
		}
	}
}

// mostCounted bounds how many folders are looked at for runs.
const mostCounted = 10_000

// Below counts the runs in a folder of runs, <scenario>/<run>/result.json, and names the newest, or one of them; 0: there are none.
func Below(dir string) (count int, one string) {
	found, _ := fs.Glob(os.DirFS(dir), "*/*/"+Result)
	for _, file := range found[:min(len(found), mostCounted)] {
		run := filepath.Join(dir, filepath.Dir(file))
		if info, err := os.Lstat(filepath.Dir(run)); err == nil && info.IsDir() { // not through the link to the newest
			count, one = count+1, run
		}
	}
	if latest := filepath.Join(dir, Latest); count > 0 {
		if _, err := os.Stat(filepath.Join(latest, Result)); err == nil {
			one = latest
		}
	}
	return count, one
}
