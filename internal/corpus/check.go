package corpus

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Limits on a corpus that somebody else may have made.
const (
	// MostHistories are the most in one corpus.
	MostHistories = 100_000
	// mostBytes bounds one file of a history.
	mostBytes = 16 << 20
)

// Folder is a corpus on disk.
type Folder struct {
	root  *os.Root
	Index Index
	lines *bufio.Reader
	index *os.File
	line  int
}

// Open opens a corpus. No link in it is followed, and nothing outside of it is read.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{root: root}
	if f.index, _, err = machine.OpenIn(root, IndexFile, fs.FileMode.IsRegular); err != nil {
		return nil, errors.Join(fmt.Errorf("this is no corpus: %w", err), root.Close())
	}
	f.lines = bufio.NewReader(f.index)
	if err = f.header(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", IndexFile, err), f.Close())
	}
	return f, nil
}

// Close lets go of the folder.
func (f *Folder) Close() error { return errors.Join(f.index.Close(), f.root.Close()) }

func (f *Folder) header() error {
	text, err := f.next()
	if err == nil {
		err = decode(text, &f.Index)
	}
	switch i := &f.Index; {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		return fmt.Errorf("line 1: %w", err)
	case i.Format != Format:
		return fmt.Errorf("line 1: format %q: want %q", i.Format, Format)
	case i.Version != Version:
		return fmt.Errorf("line 1: version %d of a corpus: this program reads version %d", i.Version, Version)
	case i.Histories < 0 || i.Histories > MostHistories:
		return fmt.Errorf("line 1: %d histories: want 0 to %d", i.Histories, MostHistories)
	}
	return nil
}

// decode reads one JSON document with fields that are known, and nothing behind it.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// next is the next line of the index; io.EOF: there is none.
func (f *Folder) next() ([]byte, error) {
	f.line++
	text, whole, err := history.ReadLine(f.lines)
	switch {
	case err != nil:
		return nil, err
	case !whole && len(text) == 0:
		return nil, io.EOF
	case !whole:
		return nil, errors.New("the line has no end: the file was cut")
	}
	return text, nil
}

// Each calls each with every entry of the index, in order. It says what is wrong with the index itself.
func (f *Folder) Each(each func(*Entry) error) error {
	seen := make(map[string]bool)
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var e Entry
		if err == nil {
			err = decode(text, &e)
		}
		if err == nil {
			err = e.check(seen)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", IndexFile, f.line, err)
		}
		if len(seen) > f.Index.Histories {
			break
		}
		if err := each(&e); err != nil {
			return err
		}
	}
	if len(seen) != f.Index.Histories {
		return fmt.Errorf("%s: it has %d histories, or more, and its first line says %d", IndexFile, len(seen), f.Index.Histories)
	}
	return nil
}

// check says what is wrong with an entry by itself.
func (e *Entry) check(seen map[string]bool) error {
	switch {
	case e.ID == "" || len(e.ID) > 64 || strings.ContainsFunc(e.ID, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }):
		return fmt.Errorf("id %.80q: want up to 64 letters, digits and signs", e.ID)
	case seen[e.ID]:
		return fmt.Errorf("there are two histories %q", e.ID)
	case e.JSONL == nil && e.EDN == nil:
		return fmt.Errorf("%s has no file", e.ID)
	case e.JSONL == nil && len(e.Properties) > 0, e.EDN == nil && len(e.Models) > 0:
		return fmt.Errorf("%s has labels of a file that it does not name", e.ID)
	case e.Refused != "" && (len(e.Properties) > 0 || len(e.Models) > 0):
		return fmt.Errorf("%s is to be refused, and has labels", e.ID)
	}
	seen[e.ID] = true
	for _, file := range []*File{e.JSONL, e.EDN} {
		if file != nil && (!fs.ValidPath(file.Path) || path.Dir(file.Path) != Histories) {
			return fmt.Errorf("path %.80q: want a file in %s", file.Path, Histories)
		}
	}
	for _, l := range e.Properties {
		if l.Property.Title() == "" {
			return fmt.Errorf("%s: no such property: %.80q", e.ID, l.Property)
		}
	}
	return nil
}

// read reads a file of a history, and sees that it is the one that the index names.
func (f *Folder) read(file *File) ([]byte, error) {
	r, info, err := machine.OpenIn(f.root, file.Path, fs.FileMode.IsRegular)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", file.Path, mostBytes)
	}
	text, err := io.ReadAll(io.LimitReader(r, mostBytes))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != file.SHA256 {
		return nil, fmt.Errorf("%s is not the file of the index: its SHA-256 is another", file.Path)
	}
	return text, nil
}

// Judge is who says something else than a label.
type Judge string

// Who judges a corpus.
const (
	Checker     Judge = "sim check"
	Definitions Judge = "the definitions"
	Porcupine   Judge = "porcupine"
)

// Difference is a label of which a judge says something else.
type Difference struct {
	ID string `json:"id"`
	// About is the property or the model; empty: the whole file.
	About string `json:"about,omitempty"`
	Judge Judge  `json:"judge"`
	Label string `json:"label"`
	Says  string `json:"says"`
	Why   string `json:"why,omitempty"`
}

// Tally counts what was compared.
type Tally struct {
	Histories int `json:"histories"`
	Refused   int `json:"refused"`
	// Compared are labels, by who judged them.
	Compared map[Judge]int `json:"compared"`
	// TooLong are histories that are too long for the definitions.
	TooLong     int          `json:"too_long"`
	Differences []Difference `json:"differences"`
}

func (t *Tally) compare(e *Entry, about string, j Judge, label, says, why string) {
	t.Compared[j]++
	if label != says {
		t.Differences = append(t.Differences, Difference{ID: e.ID, About: about, Judge: j, Label: label, Says: says, Why: why})
	}
}

// compareRefusal compares what came of reading a file that is to be refused.
func (t *Tally) compareRefusal(e *Entry, err error) {
	said := refused
	if err == nil {
		said = "read"
	}
	t.compare(e, "", Checker, refused, said, e.Reason)
}

// Check judges a history by sim's checker, by the definitions and by porcupine, and notes what they say else than its labels.
func (f *Folder) Check(ctx context.Context, e *Entry, t *Tally) error {
	t.Histories++
	if e.JSONL != nil {
		text, err := f.read(e.JSONL)
		if err != nil {
			return err
		}
		h, err := history.Decode(bytes.NewReader(text), 0)
		switch {
		case e.Refused != "":
			t.Refused++
			t.compareRefusal(e, err)
		case err != nil:
			t.compare(e, "", Checker, "read", refused, err.Error())
		default:
			e.checkProperties(ctx, h, t)
		}
	}
	if e.EDN != nil {
		text, err := f.read(e.EDN)
		if err != nil {
			return err
		}
		if e.Refused != "" {
			t.compareRefusal(e, readsEDN(text))
		}
		e.checkModels(ctx, text, t)
	}
	return ctx.Err()
}

func (e *Entry) checkProperties(ctx context.Context, h *history.History, t *Tally) {
	o := e.options()
	var list []checker.Property
	for _, l := range e.Properties {
		list = append(list, l.Property)
	}
	for i, finding := range checker.Judge(ctx, h, list, o) {
		t.compare(e, string(list[i]), Checker, e.Properties[i].Verdict.String(), finding.Verdict.String(), finding.Why)
	}
	if len(h.Events) > MostEvents || h.Header.Permits > mostPermits {
		t.TooLong++
		return
	}
	said, why := byDefinitionOf(h, o)
	if why != "" {
		t.compare(e, "", Definitions, "judged", "not judged", why)
		return
	}
	for _, l := range e.Properties {
		if v := said[l.Property]; v != 0 {
			t.compare(e, string(l.Property), Definitions, l.Verdict.String(), v.String(), "")
		}
	}
}

// mostPermits is how many permits a semaphore has at most that the definitions are asked about: they try all sets of holds.
const mostPermits = 4

// byDefinitionOf is byDefinition of a history that somebody else made.
func byDefinitionOf(h *history.History, o checker.Options) (said map[checker.Property]checker.Verdict, why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprintf("the definitions cannot be tried on it: %v", r)
		}
	}()
	return byDefinition(h, o), ""
}

func (e *Entry) checkModels(ctx context.Context, text []byte, t *Tally) {
	for _, m := range e.Models {
		r, err := evidence.Check(ctx, bytes.NewReader(text), m.options())
		if err != nil {
			t.compare(e, m.Model, Checker, m.Verdict.String(), "error", err.Error())
			continue
		}
		t.compare(e, m.Model, Checker, m.Verdict.String(), r.Verdict.String(), r.Why)
		v, err := evidence.Reference(ctx, bytes.NewReader(text), m.options(), mostOperations, mostUnknown)
		if err == nil && v != checker.Unknown {
			t.compare(e, m.Model, Porcupine, m.Verdict.String(), v.String(), "")
		}
	}
}
