package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Kind says what an entry is.
type Kind int

// The kinds of entries.
const (
	// Effect is something that the server did.
	Effect Kind = iota
	// Gap has no words: of what the server did between the entry before and this one nothing is known, nor what its data are now.
	Gap
	// Base is a command of a base: it says what the data were, not what the server did.
	Base
	// Known has no words: the server's data are now those that the Base entries before it made, and no others.
	Known
)

// Entry is one entry of a journal, in the server's own words.
type Entry struct {
	Kind  Kind
	Words []string
	// DB is the database it was done in, or -1 where the journal does not say. (SELECT has no entry.)
	DB int
	// First and Last: what the server did in one step is a block of entries. One that stands alone is both.
	// (MULTI and EXEC have no entries.)
	First, Last bool
	// Second is when it was done, in s since 1970, by the annotation before it; 0 without one.
	Second int64
}

// Place is where in a journal something stands.
type Place struct {
	File   string
	Offset int64
}

// Bounds of what is read. (resp bounds the words.)
const (
	maxBlock      = 1 << 30
	maxAnnotation = 1 << 10 // Redis' own
	minChunk      = 64 << 10
	overlap       = 64
)

// Follower reads a journal, also one that a server still writes.
type Follower struct {
	path string
	// index is the file that is looked at for news of other files: the manifest, or the journal itself where there is none.
	index    string
	manifest bool
	seen     fs.FileInfo // of index, when it was read last
	queue    []step
	began    bool   // a file has been opened
	rdb      string // a base that is not read
	err      error  // nothing can be read behind it

	file  *os.File
	info  fs.FileInfo // of file
	kind  Kind        // of its entries
	until int64       // it is read up to here
	// buf ends with the last byte that has been read, at the offset end. Entries are read up to buf[at].
	buf  []byte
	at   int
	end  int64
	hole bool // zero bytes may come

	whole int64 // the offset behind the last block
	// head and tail are with what the blocks that have been read begin and end. By them, and by what is kept of buf, it is seen that
	// the file is still what it was.
	head, tail []byte

	multi  bool // a block has begun
	block  []Entry
	db     int
	second int64
	// dbBefore and secondBefore are db and second of where the block that has begun begins.
	dbBefore     int
	secondBefore int64
}

// step is what is to be done once the file has been read to its end: open another, or add a mark.
type step struct {
	mark    Kind   // Gap, Known, or Effect: the entries that follow are no longer a base's
	path    string // the file to open
	kind    Kind
	present bool // only what is there now
}

// Follow reads a journal from the beginning of its base. path is the folder where the server keeps its data (its `dir`) or its journal
// (its `appenddirname`), a manifest, or a journal that is one file. It need not be there yet.
func Follow(path string) *Follower {
	return &Follower{path: path}
}

// Skip passes over what is there.
func (f *Follower) Skip() error {
	if f.file == nil && f.err == nil {
		if _, err := f.look(); err != nil {
			return err
		}
		// A file says its databases itself, so the others need not be read.
		for i, s := range slices.Backward(f.queue) {
			if s.path != "" {
				f.queue = f.queue[i : i+1]
				break
			}
		}
	}
	for {
		if entries, err := f.Read(); err != nil || entries == nil {
			return err
		}
	}
}

// Restarted says that the server has been started again, and that its data are what the journal says. Gap comes next, then all that
// the journal holds at the next Read as Base, then Known. What has not been read before is not an Effect any more.
func (f *Follower) Restarted() {
	_ = f.close()
	f.err, f.index, f.seen = nil, "", nil
}

// Read returns the blocks that have come to their ends since the last call, or some of them: nil says that there are no more now.
// After an error in what the journal holds, nothing can be read any more.
func (f *Follower) Read() ([]Entry, error) {
	for f.err == nil {
		if f.file != nil {
			entries, more, err := f.readMore()
			if len(entries) > 0 || err != nil {
				return entries, err
			}
			if more {
				continue
			}
		}
		if len(f.queue) == 0 {
			if changed, err := f.look(); !changed {
				return nil, err
			}
			continue // the file has had its last entry before the manifest changed
		}
		if entries, err := f.step(); len(entries) > 0 || err != nil {
			return entries, err
		}
	}
	return nil, f.err
}

// Torn is where a block begins that has not come to its end. ok is false if there is none.
func (f *Follower) Torn() (at Place, ok bool) {
	if f.file == nil || !f.multi && f.at == len(f.buf) {
		return at, false
	}
	return Place{f.file.Name(), f.whole}, true
}

// Close closes what is open.
func (f *Follower) Close() error {
	f.err = fs.ErrClosed
	return f.close()
}

func (f *Follower) close() (err error) {
	if f.file != nil {
		err = f.file.Close()
	}
	f.file, f.queue = nil, nil
	return err
}

// ReadAll reads a whole journal. torn is where a block begins that does not end; its File is empty if there is none. Where the base
// is not read, it returns the other entries and an error.
func ReadAll(path string) (entries []Entry, torn Place, err error) {
	f := Follow(path)
	defer func() { _ = f.Close() }()
	for {
		some, err := f.Read()
		entries = append(entries, some...)
		if err != nil {
			return entries, torn, err
		}
		if some == nil {
			break
		}
	}
	torn, _ = f.Torn()
	if f.index == "" {
		return nil, torn, fmt.Errorf("%s: no append-only file: %w", path, fs.ErrNotExist)
	}
	if f.rdb != "" {
		return entries, torn, fmt.Errorf("%s: the base is an RDB file, which is not read (with aof-use-rdb-preamble no it is commands)", f.rdb)
	}
	return entries, torn, nil
}

// look sees whether the journal has other files, and queues them.
func (f *Follower) look() (changed bool, err error) {
	if f.unchanged() {
		return false, nil
	}
	list, err := f.list()
	if list == nil || err != nil {
		return false, err
	}
	for i, one := range list {
		if info, err := os.Stat(one.path); f.file != nil && err == nil && os.SameFile(info, f.info) {
			f.queue = list[i+1:]
			return true, nil
		}
	}
	if f.began {
		f.queue = f.stepsAfterAnother(list, f.file == nil || !f.manifest)
	} else {
		f.queue = f.firstSteps(list)
	}
	return true, nil
}

// unchanged: index is what it was when it was read last. Where it is not there, another may be found: a server of a newer version
// takes the journal of an older one over.
func (f *Follower) unchanged() bool {
	if f.index == "" {
		return false
	}
	info, err := os.Stat(f.index)
	if err != nil {
		f.index = ""
		return false
	}
	return os.SameFile(info, f.seen) && (!f.manifest || info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size())
}

// firstSteps is how a journal begins.
func (f *Follower) firstSteps(list []step) []step {
	mark := Known
	if f.isRDB(list[0].path) {
		mark = Gap
	}
	if list[0].kind != Base {
		return slices.Insert(list, 0, step{mark: mark})
	}
	return slices.Insert(list, 1, step{mark: mark})
}

// stepsAfterAnother is how a journal begins that another has been before. present: all that it holds now says what the data are, not
// only its base.
func (f *Follower) stepsAfterAnother(list []step, present bool) []step {
	steps, known := []step{{mark: Gap}}, []step{{mark: Known}}
	if f.isRDB(list[0].path) {
		known = nil
	}
	bases := 0
	if list[0].kind == Base {
		bases = 1
	}
	if present {
		bases = len(list)
		list[bases-1].present = true
		known = append(known, step{mark: Effect})
	}
	for i := range bases {
		list[i].kind = Base
	}
	return slices.Concat(steps, list[:bases], known, list[bases:])
}

// step does the next step.
func (f *Follower) step() ([]Entry, error) {
	s := f.queue[0]
	switch {
	case s.path != "":
		return nil, f.open(s)
	case s.mark == Effect:
		f.kind, f.until = Effect, math.MaxInt64
		f.queue = f.queue[1:]
		return nil, nil
	case s.mark == Gap:
		f.forgetBlock()
	}
	f.queue = f.queue[1:]
	return []Entry{{Kind: s.mark, DB: -1}}, nil
}

// open goes on with another file.
func (f *Follower) open(s step) error {
	if at, torn := f.Torn(); torn {
		f.err = fmt.Errorf("%s: byte %d: a block without an end, though %s follows", at.File, at.Offset, filepath.Base(s.path))
		return f.err
	}
	file, err := open(s.path)
	if errors.Is(err, fs.ErrNotExist) && !f.unchanged() {
		f.queue = nil // the manifest is newer now, and names others
		return nil
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.info, f.kind, f.until, f.queue, f.began = file, info, s.kind, math.MaxInt64, f.queue[1:], true
	if s.present {
		f.until = info.Size()
	}
	f.goOnAt(0, nil)
	f.head, f.db, f.second = nil, -1, 0
	if (s.kind == Base || !f.manifest) && magic(file) {
		f.goOnAt(info.Size(), nil)
	}
	return nil
}

// goOnAt goes on at an offset where a block begins. tail is what is before it.
func (f *Follower) goOnAt(offset int64, tail []byte) {
	f.forgetBlock()
	f.tail = tail
	f.buf = append(f.buf[:0], tail...)
	f.at, f.end, f.whole, f.hole = len(f.buf), offset, offset, false
}

// forgetBlock forgets a block that will not come to its end, and with it the SELECTs and annotations within it.
func (f *Follower) forgetBlock() {
	if f.multi {
		f.db, f.second = f.dbBefore, f.secondBefore
	}
	f.multi, f.block = false, nil
	f.buf = f.buf[:f.at]
}

// readMore reads more of the file.
func (f *Follower) readMore() (entries []Entry, more bool, err error) {
	size, err := f.file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, false, err
	}
	if size < f.end {
		return f.goOnAfterCut()
	}
	if size = min(size, f.until); size == f.end {
		return nil, false, nil
	}
	// As much again as is there already: so a long word is read in few pieces, and is not looked at often.
	n := int(min(size-f.end, max(minChunk, int64(len(f.buf)))))
	keep := min(overlap, len(f.buf))
	f.dropUnneeded()
	old := len(f.buf)
	f.buf = slices.Grow(f.buf, n)[:old+n]
	var kept [overlap]byte
	copy(kept[:], f.buf[old-keep:old])
	got, err := f.file.ReadAt(f.buf[old-keep:], f.end-int64(keep))
	if err != nil && !errors.Is(err, io.EOF) {
		copy(f.buf[old-keep:], kept[:keep])
		f.buf = f.buf[:old]
		return nil, false, err
	}
	if got < keep || !bytes.Equal(kept[:keep], f.buf[old-keep:old]) {
		return f.goOnAfterCut()
	}
	f.buf = f.buf[:old-keep+got]
	f.end += int64(got - keep)
	before := f.whole
	entries, err = f.parse()
	if f.whole > before {
		i := len(f.buf) - int(f.end-f.whole)
		f.tail = append(f.tail[:0], f.buf[max(0, i-overlap):i]...)
		if f.end == int64(len(f.buf)) {
			f.head = append(f.head[:0], f.buf[:min(overlap, i)]...)
		}
	}
	if err != nil {
		f.err = fmt.Errorf("%s: byte %d: %w", f.file.Name(), f.offset(), err)
	} else if f.end-f.whole > maxBlock {
		f.err = fmt.Errorf("%s: byte %d: a block of more than %d bytes", f.file.Name(), f.whole, maxBlock)
	}
	if len(entries) > 0 {
		return entries, true, nil
	}
	return nil, got > keep, f.err
}

// dropUnneeded forgets the bytes before those that are still needed.
func (f *Follower) dropUnneeded() {
	if unneeded := f.at - overlap; unneeded > 0 {
		f.buf = append(f.buf[:0], f.buf[unneeded:]...)
		f.at -= unneeded
	}
}

// goOnAfterCut goes on with a file of which an end has gone. Was it a block in part, nothing has changed: the server has been started
// again, and has removed it. If the beginning of the file is still what it was, what is left are the server's data: the machine has
// lost its power, or the server has removed what it could not write. Otherwise somebody else cut it, and the server's data are not in
// it.
func (f *Follower) goOnAfterCut() ([]Entry, bool, error) {
	if f.end > f.whole {
		f.goOnAt(f.whole, f.tail) // if not, what comes next is not behind the tail
		return nil, true, nil
	}
	size, err := f.file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, false, err
	}
	head := make([]byte, min(size, int64(len(f.head))))
	if n, _ := f.file.ReadAt(head, 0); size > 0 && n == len(head) && bytes.HasPrefix(f.head, head) {
		f.Restarted()
		return nil, true, nil
	}
	f.goOnAt(0, nil)
	f.hole, f.kind, f.until = true, Effect, math.MaxInt64
	return []Entry{{Kind: Gap, DB: -1}}, true, nil
}

// offset is that of the next entry.
func (f *Follower) offset() int64 { return f.end - int64(len(f.buf)-f.at) }
