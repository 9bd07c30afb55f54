package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server/servertest"
)

// journaling starts a server with a journal whose base is commands. one: it is one file, as before version 7.
func journaling(t *testing.T, args ...string) (r *servertest.Redis, c *caller, one bool) {
	t.Helper()
	r = servertest.Start(t, epoch, append([]string{"--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no"}, args...)...)
	c = &caller{t, r, r.RDB.Conn()}
	t.Cleanup(func() { _ = c.conn.Close() })
	return r, c, strings.HasPrefix(r.Info("server", "redis_version"), "6.")
}

// rewritten waits until no rewrite is under way.
func rewritten(t *testing.T, r *servertest.Redis) {
	t.Helper()
	suite.Eventually(t, "the end of the rewrite", func() bool {
		return r.Info("persistence", "aof_rewrite_in_progress") == "0" && r.Info("persistence", "aof_rewrite_scheduled") == "0"
	})
}

// With appendfsync no, an entry is there before its command is answered.
func TestBeforeTheAnswer(t *testing.T) {
	r, c, one := journaling(t)
	f := follow(t, r.Dir)
	if err := f.Skip(); err != nil {
		t.Fatal(err)
	}
	c.run("CONFIG SET aof-timestamp-enabled yes") // unknown before version 7
	for i := range 1000 {
		c.run(fmt.Sprintf("SELECT %d;SET k %d", i%3, i))
		entries := rest(t, f)
		if want := fmt.Sprintf("%d: SET k %d", i%3, i); !slices.Equal(text(entries), []string{want}) {
			t.Fatalf("read %q, want %q", text(entries), want)
		}
		if want := int64(epoch); !one && entries[0].Second != want {
			t.Fatalf("entry %d is of %d, want %d", i, entries[0].Second, want)
		}
	}
}

func TestRewrite(t *testing.T) {
	r, c, one := journaling(t)
	f := follow(t, r.Dir)
	c.run("SET a 1;CONFIG SET rdb-key-save-delay 300000")
	wantNext(t, f, "known", "0: SET a 1")
	c.run("BGREWRITEAOF;INCR a") // the child sleeps for 300 ms at its key
	wantNext(t, f, "0: INCR a")
	rewritten(t, r)
	c.run("INCR a")
	if one {
		wantNext(t, f, "gap", "base 0: SET a 1", "base 0: INCR a", "base 0: INCR a", "known")
		c.run("INCR a")
	}
	wantNext(t, f, "0: INCR a")

	// It is not seen before it has ended.
	c.run("CONFIG SET rdb-key-save-delay 0;SET b 1;BGREWRITEAOF")
	rewritten(t, r)
	c.run("DEL b")
	got := text(rest(t, f))
	if one {
		wantNext(t, f)
		c.run("DEL a")
		wantNext(t, f, "0: DEL a")
		return
	}
	gap := slices.Index(got, "gap")
	if got[0] != "0: SET b 1" || gap < 0 || got[len(got)-2] != "known" || got[len(got)-1] != "0: DEL b" {
		t.Errorf("read %q", got)
	}
	if base := got[gap+1 : len(got)-2]; len(base) != 2 || !slices.Contains(base, "base 0: SET b 1") {
		t.Errorf("the base is %q", base)
	}
}

// A base that is a snapshot is not read. What comes after it is.
func TestSnapshotAsBase(t *testing.T) {
	r, c, one := journaling(t)
	c.run("SET a 1;CONFIG SET aof-use-rdb-preamble yes;BGREWRITEAOF")
	rewritten(t, r)
	f := follow(t, r.Dir)
	if err := f.Skip(); err != nil {
		t.Fatal(err)
	}
	c.run("INCR a")
	wantNext(t, f, "0: INCR a")
	entries, _, err := journal.ReadAll(r.Dir)
	want := []string{"gap", "0: INCR a"}
	if one {
		want = want[:1] // where the snapshot ends is not known
	}
	if err == nil || !strings.Contains(err.Error(), "an RDB file") || !slices.Equal(text(entries), want) {
		t.Errorf("read %q, %v", text(entries), err)
	}
}

// A replica that copies all of its master's data stops its journal, and begins another.
func TestWholeCopy(t *testing.T) {
	var port string
	var m *caller
	err := machine.OnFreePort(func(free int) error {
		port = strconv.Itoa(free)
		_, m, _ = journaling(t, "--bind", "127.0.0.1", "--port", port, "--repl-diskless-sync-delay", "0")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, c, one := journaling(t)
	f := follow(t, r.Dir)
	m.run("SELECT 2;SET a 1 PX 300")
	c.run("SET b 1")
	wantNext(t, f, "known", "0: SET b 1")
	c.run("REPLICAOF 127.0.0.1 " + port)
	suite.Eventually(t, "the copy", func() bool { return r.Info("replication", "master_link_status") == "up" })
	rewritten(t, r)
	base := []string{"base 2: SET a 1", fmt.Sprintf("base 2: PEXPIREAT a %d", int64(epoch*1000+300))}
	if one {
		base[1] = "base 2: PEXPIREAT a 1700000000300"
	}
	var got []string
	suite.Eventually(t, "the new base", func() bool {
		got = append(got, text(rest(t, f))...)
		return slices.Contains(got, "known")
	})
	if want := append(append([]string{"gap"}, base...), "known"); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	m.run("INCR a")
	got = nil
	suite.Eventually(t, "what the master did", func() bool {
		got = append(got, text(rest(t, f))...)
		return len(got) > 0
	})
	if !slices.Equal(got, []string{"2: INCR a"}) {
		t.Errorf("read %q", got)
	}
}

func TestServerStartedAgain(t *testing.T) {
	r, c, one := journaling(t)
	f := follow(t, r.Dir)
	launch := func() {
		t.Helper()
		_ = c.conn.Close()
		r.Launch(t)
		c.conn = r.RDB.Conn()
	}
	c.run("SET a 1")
	wantNext(t, f, "known", "0: SET a 1")
	path := filepath.Join(r.Dir, "appendonlydir", "appendonly.aof.1.incr.aof")
	if one {
		path = filepath.Join(r.Dir, "appendonly.aof")
	}

	// Killed within an entry.
	r.Kill()
	appendTo(t, path, "*3\r\n$3\r\nSET\r\n$1\r\na")
	wantNext(t, f)
	if at, torn := f.Torn(); !torn || at.File != path {
		t.Errorf("torn %v at %+v", torn, at)
	}
	launch()
	c.run("INCR a")
	wantNext(t, f, "0: INCR a")

	// What was not fsynced is lost with the machine's power.
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r.Kill()
	if err := os.Truncate(path, int64(strings.LastIndex(string(content), "*2\r\n$4\r\nINCR"))); err != nil {
		t.Fatal(err)
	}
	launch()
	wantNext(t, f, "gap", "base 0: SET a 1", "known")
	c.run("INCR a")
	wantNext(t, f, "0: INCR a")

	// All is lost.
	r.Kill()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	launch()
	f.Restarted()
	wantNext(t, f, "gap", "known")

	// The journal is removed.
	r.Kill()
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	wantNext(t, f)
	launch()
	wantNext(t, f, "gap", "known")
	c.run("SET a 2")
	wantNext(t, f, "0: SET a 2")
}

// A server goes on with a file that is cut: at its beginning, or, where a rewrite has made it, behind zero bytes.
func TestCutWhileTheServerRuns(t *testing.T) {
	r, c, one := journaling(t)
	f := follow(t, r.Dir)
	for _, path := range []string{"appendonly.aof.1.incr.aof", "appendonly.aof.2.incr.aof"} {
		path = filepath.Join(r.Dir, "appendonlydir", path)
		if one {
			path = filepath.Join(r.Dir, "appendonly.aof")
		}
		c.run("SET a 1")
		rest(t, f)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		wantNext(t, f, "gap")
		c.run("SET a 2;SET a 3")
		wantNext(t, f, "0: SET a 2", "0: SET a 3")
		if err := f.Skip(); err != nil {
			t.Fatal(err)
		}
		c.run("BGREWRITEAOF")
		rewritten(t, r)
		rest(t, f)
	}
	if r.RDB.Get(context.Background(), "a").Val() != "3" {
		t.Error("the server has other data")
	}
}
