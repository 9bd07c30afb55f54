package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sight is the state of a server's thread for fsync at a look, and the file's size then.
type sight struct {
	asleep bool
	sleeps int64
	size   int64
}

// TestWhatCountsAsFsynced: what the file holds when a job is first seen, once the thread
// has slept from one look to the next.
func TestWhatCountsAsFsynced(t *testing.T) {
	for _, test := range []struct {
		name   string
		sights []sight
		want   int64
	}{
		{"nothing but sleep", []sight{{true, 1, 200}, {true, 1, 300}}, 100},
		{"a job between two looks", []sight{{true, 2, 200}, {true, 2, 300}}, 200},
		{"a job under way", []sight{{false, 1, 200}, {false, 2, 200}}, 100},
		{"a job that waits for the disk", []sight{{false, 2, 200}, {false, 2, 200}, {true, 3, 300}, {true, 3, 400}}, 200},
		{"asleep for the lock of its queue, before its job", []sight{{true, 2, 200}, {true, 3, 300}, {true, 3, 400}}, 200},
		{"awake, and asleep again without a job", []sight{{false, 1, 200}, {true, 1, 300}, {true, 1, 400}}, 100},
		{"two jobs", []sight{{true, 2, 200}, {true, 2, 300}, {true, 3, 400}, {true, 3, 500}}, 400},
	} {
		w := &syncWatch{thread: SyncThread{sleeps: 1}}
		w.synced.Store(100)
		for _, s := range test.sights {
			w.noteLook(w.thread.compare(s.asleep, s.sleeps), s.size)
		}
		if got := w.size(); got != test.want {
			t.Errorf("%s: %d bytes are fsynced, want %d", test.name, got, test.want)
		}
	}
}

// A server that has just read the file has all of it on its disk, whenever the first look
// comes.
func TestWhatWasLoadedIsFsynced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	w := watchSync(os.Getpid(), file) // it has no such thread
	w.Stop()
	if got := w.size(); got != 100 {
		t.Errorf("%d bytes are fsynced, want 100", got)
	}
}

// What counts stands at the end of a status, which is long for a user of many groups.
func TestLongStatus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	status := "Name:\tbio_aof\nState:\tS (sleeping)\n" +
		"Groups:\t" + strings.Repeat("100000 ", 3000) + "\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n"
	if err := os.WriteFile(path, []byte(status), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	thread := SyncThread{status: file}
	defer thread.Close()
	for range 2 { // the second look has room for it
		if asleep, sleeps, err := thread.state(); !asleep || sleeps != 17 || err != nil {
			t.Errorf("asleep %v, %d times, %v", asleep, sleeps, err)
		}
	}
}
