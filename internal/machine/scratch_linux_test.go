package machine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// roleVariable makes the test's program a process that is going to be killed.
const roleVariable = "MACHINE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "leave":
		leave()
	case "leave to a cleaner":
		must(os.Setenv(roleVariable, "clean"))
		_, err := StartCleaner(exec.Command(os.Args[0]))
		must(err)
		must(os.Setenv(roleVariable, "end in order"))
		client := exec.Command(os.Args[0])
		client.Dir = os.Getenv(folderVariable)
		_, err = StartLeader("client", client)
		must(err)
		leave()
	case "clean":
		must(CleanAfter(os.Stdin))
	case "end in order":
		endInOrderOnceAsked()
	default:
		os.Exit(suite.Live(m).Run())
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// endInOrderOnceAsked is a client that takes its time to end what it has started.
func endInOrderOnceAsked() {
	asked := make(chan os.Signal, 1)
	signals.Notify(asked, syscall.SIGTERM)
	must(os.WriteFile(beganFile, nil, 0o600))
	<-asked
	time.Sleep(200 * time.Millisecond) // longer than the cleaner takes to find it
	must(os.WriteFile(endedFile, nil, 0o600))
}

// Files of that client, in the folder that folderVariable names.
const (
	folderVariable       = "MACHINE_TEST_FOLDER"
	beganFile, endedFile = "began", "ended"
)

// leave makes one of each thing that a killed process leaves, and waits for its end.
func leave() {
	dir, err := Scratch()
	must(err)
	var pids []string
	start := func(dir, script string) {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = dir
		out, err := cmd.StdoutPipe()
		must(err)
		_, err = Start("family", cmd)
		must(err)
		line, err := bufio.NewReader(out).ReadString('\n')
		must(err)
		pids = append(pids, strings.Fields(line)...)
	}
	start("/", `sleep 1000 & echo $! $$; wait`)        // it keeps the environment
	start(dir, `env -i sleep 1000 & echo $! $$; wait`) // it works in the folder
	fmt.Println(dir, strings.Join(pids, " "))
	select {}
}

// What a killed process has left is found by the next one, and removed; what belongs to one that
// lives is not touched.
func TestCleanRemovesWhatAKilledProcessLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mine, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Discard(mine) })
	for range 20 {
		if cleansUp(t, mine) {
			return
		}
	}
	t.Error("others of this machine were always faster")
}

// A cleaner removes what a killed process has left, once the clients of that have ended in order.
func TestACleanerRemovesWhatAKilledProcessLeft(t *testing.T) {
	for range 20 { // any sim of this machine cleans up at once before it runs something
		folder := t.TempDir()
		cmd, its, pids := startLeaving(t, roleVariable+"=leave to a cleaner", folderVariable+"="+folder)
		suite.Eventually(t, "the client to begin", func() bool { return exists(filepath.Join(folder, beganFile)) })
		_ = cmd.Process.Kill()
		_ = suite.Ends(t, cmd)
		suite.Eventually(t, "the cleaner to clean up", func() bool { return !exists(its) && !slices.ContainsFunc(pids, lives) })
		if exists(filepath.Join(folder, endedFile)) {
			return
		}
	}
	t.Error("the client never ended in order")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// startLeaving starts a process that leaves a folder and other processes when it is killed.
func startLeaving(t *testing.T, environ ...string) (cmd *exec.Cmd, folder string, pids []int) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line string
	suite.Returns(t, "what the process has made", func() { line, err = bufio.NewReader(out).ReadString('\n') })
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	for _, word := range words[1:] {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return cmd, words[0], pids
}

// cleansUp lets a process leave something and cleans that up. It reports whether it was the one that did: any sim of
// this machine does so before it runs something.
func cleansUp(t *testing.T, mine string) bool {
	t.Helper()
	cmd, its, pids := startLeaving(t, roleVariable+"=leave")
	if found, err := Clean(true); err != nil {
		t.Fatal(found, err)
	}
	for _, path := range []string{its, mine} {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("what belongs to a process that lives was removed: %v", err)
		}
	}
	shell := exec.Command("sleep", "1000") // somebody looks at what was left
	shell.Dir = its
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = shell.Process.Kill(), shell.Wait() })
	_ = cmd.Process.Kill()
	_ = suite.Ends(t, cmd)
	found, err := Clean(false)
	if err != nil {
		t.Error(err)
	}
	if found.Folders < 1 || found.Processes < 2 {
		suite.Eventually(t, fmt.Sprintf("another to clean up, as only %v were found", found), func() bool {
			_, err := os.Stat(its)
			return err != nil
		})
		return false
	}
	if found, err := Clean(true); err != nil {
		t.Error(found, err)
	}
	if _, err := os.Stat(its); err == nil {
		t.Errorf("%s is left", its)
	}
	for _, pid := range pids {
		if lives(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if !lives(shell.Process.Pid) {
		t.Error("a process was killed that only works there")
	}
	suite.Eventually(t, "a machine on which nothing is left, by whomever", func() bool {
		_, err := Clean(true)
		left, again := Clean(false)
		return err == nil && again == nil && !left.Any()
	})
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	return true
}

// A folder that only looks like one of ours is not touched, nor what a link leads to.
func TestCleanTouchesNothingElse(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	outside := filepath.Join(t.TempDir(), "outside")
	for _, dir := range []string{outside, filepath.Join(temporary, "redlock-sim-"), filepath.Join(temporary, "redlock-sim-conform-123"),
		filepath.Join(temporary, "redlock-sim-a-b-c-d-e")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(temporary, "redlock-sim-00000000-1-1-1-1")); err != nil {
		t.Fatal(err)
	}
	if found, err := Clean(true); err != nil {
		t.Errorf("removed %v (%v)", found, err)
	}
	if entries, err := os.ReadDir(temporary); err != nil || len(entries) != 4 {
		t.Errorf("%v are left (%v)", entries, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// A folder of one that is gone is removed; of one that lives, of another purpose, or of nobody, it stays.
func TestAFolderInRemovesWhatWasLeft(t *testing.T) {
	parent := t.TempDir()
	ends := exec.Command("cat")
	input, err := ends.StdinPipe()
	if err == nil {
		err = ends.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	gone, err := OwnerOf(ends.Process.Pid)
	if err := errors.Join(err, input.Close(), ends.Wait()); err != nil {
		t.Fatal(err)
	}
	lives, err := FolderIn(parent, "what")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".what-" + gone.String() + "-1", ".other-" + gone.String() + "-1", ".what-1"} {
		if err := os.MkdirAll(filepath.Join(parent, name, "within"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	next, err := FolderIn(parent, "what")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{lives, next, filepath.Join(parent, ".other-"+gone.String()+"-1"), filepath.Join(parent, ".what-1")} {
		if !exists(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	if exists(filepath.Join(parent, ".what-"+gone.String()+"-1")) {
		t.Error("what a process left that is gone is still there")
	}
}

// What a child has started in its group ends with it.
func TestAGroupEndsWithItsFirst(t *testing.T) {
	line, err := Output(t.Context(), "sh", "-c", "sleep 1000 & echo $!")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the end of what it started", func() bool { return !lives(pid) })
}

// The path of PostgreSQL's socket, the longest below a scratch folder, fits into a socket's address.
func TestSocketsFit(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	me.pid, me.started = 1<<22, short("9999999999") // the largest, and three years of ticks
	longest := strings.Repeat("x", longestTemp) + "/" + scratchPrefix + me.String() + "-4294967295" + "/postgres/.s.PGSQL.5432"
	if len(longest) > 107 {
		t.Errorf("%d bytes: %s", len(longest), longest)
	}
	back, err := ParseOwner(me.String())
	if err != nil || back != me {
		t.Errorf("%q was read as %+v (%v)", me, back, err)
	}
}
