package shard

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// source is a shard in its folder. Nothing outside the folder is read, also where links lead there.
type source struct {
	*Record
	// text is the record as it was read.
	text []byte
	// dir is the shard's folder.
	dir string
}

// path is that of the record, for messages.
func (s *source) path() string { return filepath.Join(s.dir, RecordFile) }

// Whole are the shards of one piece of work.
type Whole struct {
	Work Work
	Of   int
	// Missing says which shards are missing, or did not come to their end, and why.
	Missing []string
	shards  []*source
	// out is the folder in which they all are after Copy.
	out string
}

// Records are those of the shards that are there, in their order.
func (w *Whole) Records() (list []*Record) {
	for _, s := range w.shards {
		list = append(list, s.Record)
	}
	return list
}

// Started is when the first of the shards began.
func (w *Whole) Started() time.Time {
	return slices.MinFunc(w.shards, func(a, b *source) int { return a.Started.Compare(b.Started) }).Started
}

// Collect finds shards, and sees that they fit together. A path is the folder of a shard, one with a folder "shards" in it,
// as sim leaves it, or one with several of these in it, as artifacts of a CI system are laid down. A shard that is
// there twice counts once.
func Collect(paths ...string) (*Whole, error) {
	var found []*source
	var unfinished []string
	for _, p := range paths {
		dirs, err := folders(p)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			s, err := read(dir)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				unfinished = append(unfinished, dir)
			case err != nil:
				return nil, fmt.Errorf("%s: %w", filepath.Join(dir, RecordFile), err)
			default:
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.Shard.Index, b.Shard.Index), cmp.Compare(a.dir, b.dir))
	})
	if len(found) == 0 {
		why := "no shard in " + strings.Join(paths, ", ")
		if len(unfinished) > 0 {
			why += fmt.Sprintf(": %s has no %s, because it did not come to its end", unfinished[0], RecordFile)
		}
		return nil, errors.New(why)
	}
	return together(found, unfinished)
}

// together sees that shards fit together.
func together(found []*source, unfinished []string) (*Whole, error) {
	first := found[0]
	w := &Whole{Work: first.Work, Of: first.Shard.Of}
	for _, s := range found {
		difference := first.Work.Difference(&s.Work)
		if difference == "" && s.Shard.Of != w.Of {
			difference = fmt.Sprintf("a shard of %d, and a shard of %d", w.Of, s.Shard.Of)
		}
		if difference != "" {
			return nil, fmt.Errorf("%s and %s do not fit together: %s", first.path(), s.path(), difference)
		}
		if n := len(w.shards); n == 0 || w.shards[n-1].Shard != s.Shard {
			w.shards = append(w.shards, s)
		} else if last := w.shards[n-1]; !bytes.Equal(last.text, s.text) {
			return nil, fmt.Errorf("%s and %s do not fit together: "+
				"both are the shard %v, and they differ: it was run twice, so leave one of them out", last.path(), s.path(), s.Shard)
		}
	}
	units := make(map[uint64]*source)
	for _, s := range w.shards {
		for _, u := range s.units() {
			if o := units[u]; o != nil {
				return nil, fmt.Errorf("%s and %s do not fit together: both have the piece of work %d", o.path(), s.path(), u)
			}
			units[u] = s
		}
	}
	for i := 1; i <= w.Of; i++ {
		one := request.Shard{Index: i, Of: w.Of}
		at := slices.IndexFunc(w.shards, func(s *source) bool { return s.Shard == one })
		switch {
		case at >= 0 && w.shards[at].Interrupted:
			w.Missing = append(w.Missing, one.String()+", which was interrupted")
		case at >= 0:
		case slices.ContainsFunc(unfinished, func(dir string) bool { return filepath.Base(dir) == w.Work.Folder(one) }):
			w.Missing = append(w.Missing, one.String()+", which did not come to its end")
		default:
			w.Missing = append(w.Missing, one.String())
		}
	}
	return w, nil
}

// units are the pieces of work that a record says it has done, where it lists them.
func (s *source) units() (list []uint64) {
	for _, r := range s.Results {
		list = append(list, r.Unit)
	}
	for _, a := range s.Answers {
		list = append(list, a.Unit)
	}
	return list
}

// folders are those of the shards in a folder.
func folders(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("failed to find shards: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder: name the folder of a shard, or one with shards in it", dir)
	}
	if exists(filepath.Join(dir, RecordFile)) {
		return []string{dir}, nil
	}
	below, err := subfolders(dir)
	if err != nil || slices.Contains(below, Shards) {
		return inside(filepath.Join(dir, Shards), err)
	}
	var list []string
	for _, name := range below {
		one := filepath.Join(dir, name)
		if exists(filepath.Join(one, RecordFile)) {
			list = append(list, one)
			continue
		}
		more, err := inside(filepath.Join(one, Shards), nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func inside(dir string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	names, err := subfolders(dir)
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	return names, err
}

// subfolders are the folders in a folder, and no links.
func subfolders(dir string) (names []string, err error) {
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 && filepath.Base(dir) == Shards {
		return nil, fmt.Errorf("%s is a link", dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// read reads the record of a shard.
func read(dir string) (*source, error) {
	text, err := readBelow(dir, RecordFile)
	if err != nil {
		return nil, err
	}
	r, err := parseRecord(text)
	return &source{r, text, dir}, err
}

// readBelow reads a file below a folder, of at most mostRecord bytes.
func readBelow(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, _, err := machine.OpenIn(root, name, fs.FileMode.IsRegular)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mostRecord+1))
	if err == nil && len(text) > mostRecord {
		err = fmt.Errorf("more than %d bytes", mostRecord)
	}
	return text, err
}

// Bounds of what is copied.
const (
	mostFiles = 2_000_000
	mostBytes = 64 << 30
)

// Copy brings the folders of all shards into one folder, where they are not there yet: then it can be merged itself. It refuses
// a folder in which there are shards of something else.
func (w *Whole) Copy(out string) error {
	all := filepath.Join(out, Shards)
	names, err := subfolders(all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		isMerged := slices.ContainsFunc(w.shards, func(s *source) bool { return w.Work.Folder(s.Shard) == name })
		if !isMerged && exists(filepath.Join(all, name, RecordFile)) {
			return words.WithHint(fmt.Errorf("in %s there is a shard that is not merged here: %s", out, filepath.Join(all, name)),
				"merge it, too, or choose another folder with -o")
		}
	}
	c := &copying{}
	for _, s := range w.shards {
		to := filepath.Join(all, w.Work.Folder(s.Shard))
		if there, err := read(to); err == nil && bytes.Equal(there.text, s.text) {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return words.WithHint(fmt.Errorf("%s is another one than %s", filepath.Join(to, RecordFile), s.path()), "choose another folder with -o")
		}
		if err := c.folder(s.dir, to); err != nil {
			return fmt.Errorf("failed to copy %s: %w", s.dir, err)
		}
		if err := machine.WriteFile(filepath.Join(to, RecordFile), func(f io.Writer) error {
			_, err := f.Write(s.text)
			return err
		}); err != nil {
			return err
		}
	}
	w.out = out
	return nil
}

type copying struct {
	files int
	bytes int64
}

// folder copies the regular files of a folder, but for its record.
func (c *copying) folder(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || name == RecordFile {
			return err
		}
		if c.files++; c.files > mostFiles {
			return fmt.Errorf("more than %d files", mostFiles)
		}
		f, _, err := machine.OpenIn(root, name, fs.FileMode.IsRegular)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return machine.WriteFile(filepath.Join(to, filepath.FromSlash(name)), func(w io.Writer) error {
			n, err := io.Copy(w, io.LimitReader(f, mostBytes-c.bytes+1))
			if c.bytes += n; err == nil && c.bytes > mostBytes {
				err = fmt.Errorf("more than %d bytes in all", int64(mostBytes))
			}
			return err
		})
	})
}

// Path is a file of a shard, once they are copied.
func (w *Whole) Path(r *Record, name string) string {
	return filepath.Join(w.out, Shards, w.Work.Folder(r.Shard), filepath.FromSlash(name))
}

// Link is the same as seen from the folder in which the shards are copied.
func (w *Whole) Link(r *Record, name string) string {
	return path.Join(Shards, w.Work.Folder(r.Shard), filepath.ToSlash(name))
}

// Result reads the result of a run, and sees that it is the one of which the record speaks.
func (w *Whole) Result(r *Record, one Result) (*report.Result, error) {
	dir := filepath.Join(w.out, Shards, w.Work.Folder(r.Shard))
	name := path.Join(filepath.ToSlash(one.Dir), runs.Result)
	fail := func(err error) (*report.Result, error) {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	text, err := readBelow(dir, name)
	if err != nil {
		return fail(err)
	}
	if digest(text) != one.Digest {
		return fail(errors.New("it is not the result that the shard recorded: its SHA-256 is another one"))
	}
	result, err := report.ReadJSON(bytes.NewReader(text))
	if err != nil {
		return fail(err)
	}
	count := uint64(len(w.Work.Scenarios))
	of, seed := w.Work.Scenarios[one.Unit%count], w.Work.Seed()+one.Unit/count
	if result.Scenario != of.Name || result.ScenarioDigest != of.Digest || result.Seed != seed {
		return fail(fmt.Errorf("it is of the scenario %s with the seed %d; the record says %s with %d",
			result.Scenario, result.Seed, of.Name, seed))
	}
	return result, nil
}

// ResultOf is a run for the record, whose folder is below the shard's.
func ResultOf(unit uint64, shardDir, runDir string) (Result, error) {
	root, err := filepath.Abs(shardDir)
	if err != nil {
		return Result{}, err
	}
	dir, err := filepath.Rel(root, runDir)
	if err != nil {
		return Result{}, err
	}
	text, err := readBelow(runDir, runs.Result)
	return Result{unit, filepath.ToSlash(dir), digest(text)}, err
}

// Scenario is the text of the scenario of a search.
func (w *Whole) Scenario() ([]byte, error) {
	for _, s := range w.shards {
		if s.Search == nil || s.Search.Runs == 0 {
			continue
		}
		file := w.Path(s.Record, ScenarioFile)
		text, err := readBelow(filepath.Dir(file), ScenarioFile)
		if err != nil {
			return nil, fmt.Errorf("failed to read the scenario of the shard %v: %w", s.Shard, err)
		}
		if digest(text) != w.Work.Scenarios[0].Digest {
			return nil, fmt.Errorf("%s: it is not the scenario that the shard recorded: its SHA-256 is another one", file)
		}
		return text, nil
	}
	return nil, errors.New("no shard that is there has searched anything")
}

// Card is the card of an audit with the answers of all shards.
func (w *Whole) Card() (*card.Card, error) {
	questions := *w.shards[0].Card
	questions.Locks, questions.Versions = slices.Clone(questions.Locks), maps.Clone(questions.Versions)
	questions.WallMS, questions.Interrupted, questions.Missing = 0, false, w.Missing
	var answers []audit.Answer
	for _, s := range w.shards {
		if err := w.sameQuestions(s); err != nil {
			return nil, err
		}
		for k, v := range s.Card.Versions {
			if _, ok := questions.Versions[k]; !ok {
				questions.Versions[k] = v
			}
		}
		questions.Started, questions.Nodes = min(questions.Started, s.Card.Started), cmp.Or(questions.Nodes, s.Card.Nodes)
		questions.WallMS += s.Card.WallMS
		for i := range questions.Locks {
			l, own := &questions.Locks[i], &s.Card.Locks[i]
			l.Misbehaves = cmp.Or(l.Misbehaves, own.Misbehaves)
			l.Conform = slices.Clone(l.Conform)
			for _, c := range own.Conform {
				if l.Cell(c.ID) == nil {
					l.Conform = append(l.Conform, c)
				}
			}
		}
		for _, a := range s.Answers {
			answers = append(answers, w.linked(s.Record, a))
		}
	}
	missing := ""
	if len(w.Missing) > 0 {
		missing = "It was dealt to a shard that is missing."
	}
	card := audit.Settle(&questions, answers, missing)
	for i := range card.Locks {
		if got, want := len(card.Locks[i].Cells), len(questions.Locks[i].Cells); got < want {
			return nil, fmt.Errorf("the shards answer %d of %d questions about %s", got, want, card.Locks[i].Label)
		}
	}
	return card, nil
}

// sameQuestions sees that a shard asks what the first one asks, of the same locks.
func (w *Whole) sameQuestions(s *source) error {
	first := w.shards[0]
	fail := func(what string) error {
		return fmt.Errorf("%s and %s do not fit together: %s", first.path(), s.path(), what)
	}
	if len(s.Card.Locks) != len(first.Card.Locks) {
		return fail("they have other locks")
	}
	for i := range s.Card.Locks {
		a, b := &first.Card.Locks[i], &s.Card.Locks[i]
		id := func(x, y card.Cell) bool { return x.ID == y.ID }
		switch {
		case a.Label != b.Label || a.Name != b.Name || a.Version != b.Version || a.Class != b.Class:
			return fail(fmt.Sprintf("the lock %s %s %s, and %s %s %s", a.Label, a.Name, a.Version, b.Label, b.Name, b.Version))
		case !slices.EqualFunc(a.Cells, b.Cells, id):
			return fail("they ask other questions")
		case (a.NotConforming == "") != (b.NotConforming == ""):
			return fail(a.Label + " conforms to the lock protocol in one of them, and not in the other")
		}
	}
	return nil
}

// linked is an answer whose files are named as seen from the merged folder.
func (w *Whole) linked(r *Record, a audit.Answer) audit.Answer {
	link := func(name *string) {
		if *name != "" {
			*name = w.Link(r, *name)
		}
	}
	for _, c := range []**card.Cell{&a.Cell, &a.Aside} {
		if *c != nil {
			own := **c
			link(&own.Report)
			link(&own.Scenario)
			*c = &own
		}
	}
	if a.Cost != nil {
		own := *a.Cost
		link(&own.Report)
		a.Cost = &own
	}
	return a
}
