//go:build linux && amd64

package guests

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

func newTestbed(t *testing.T) *Testbed {
	t.Helper()
	b, err := NewTestbed(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestServerOnTestbed: time passes for a server only while somebody waits, and it starts again without its data.
func TestServerOnTestbed(t *testing.T) {
	path := redis(t)
	before, folders := left(t), scratchFolders(t)
	b := newTestbed(t)
	s, err := b.StartRedis("A", path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	do := func(words ...string) string {
		answers, err := s.Do([][]string{words})
		if err != nil || len(answers) != 1 {
			t.Fatalf("%q: %v, %v", words, answers, err)
		}
		return fmt.Sprint(answers[0])
	}
	answers, err := s.Do([][]string{{"SET", "k", "v", "PX", "1500"}, {"LPUSH", "k", "x"}, {"GET", "k"}, {"PTTL", "k"}})
	if err != nil || len(answers) != 4 || answers[0] != "OK" || answers[2] != "v" || answers[3] != int64(1500) {
		t.Errorf("%v, %v", answers, err)
	}
	if _, failed := answers[1].(error); !failed {
		t.Errorf("LPUSH to a string answers %v", answers[1])
	}
	b.Sleep(time.Second)
	if got := do("PTTL", "k"); got != "500" {
		t.Errorf("after a second the key ends in %s ms", got)
	}
	do("PERSIST", "k")
	s.Kill()
	if _, err := s.Do([][]string{{"PING"}}); err == nil || !s.Dead() {
		t.Errorf("it answers when it is dead: %v, dead: %v", err, s.Dead())
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if got := do("EXISTS", "k"); got != "0" || s.Dead() {
		t.Errorf("it starts with %s keys, dead: %v", got, s.Dead())
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if now := left(t); now.descriptors > before.descriptors || now.goroutines > before.goroutines || now.children > before.children ||
		scratchFolders(t) > folders {
		t.Errorf("what is left: %+v, before: %+v", now, before)
	}
}

// TestProgramOnTestbed has a program whose clock is moved, and another one on its host after its end.
func TestProgramOnTestbed(t *testing.T) {
	redis(t)
	b := newTestbed(t)
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	var said []string
	ended := ""
	start := func(script string) *TestbedProgram {
		said, ended = nil, ""
		p, err := b.Start("c1", []string{"sh", "-c", script}, Heard{
			Line:   func(line []byte) { said = append(said, string(line)) },
			Errors: func(text []byte) { said = append(said, "error "+string(text)) },
			Ended:  func(how string) { ended = how },
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	hears := func(n int) bool { return b.Until(time.Second, func() bool { return len(said) >= n }) }

	p := start("while read x; do date +%s; done; echo over >&2; exit 3")
	seconds := func() int {
		n := len(said)
		p.Write([]byte("x\n"))
		if !hears(n + 1) {
			t.Fatalf("it says %q, and is %q", said, ended)
		}
		s, err := strconv.Atoi(said[n])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if now := int(b.Wall() / time.Second); seconds() != now {
		t.Errorf("it is %d, and the program says %q", now, said)
	}
	p.MoveWall(-time.Hour)
	if moved := int((b.Wall() - time.Hour) / time.Second); seconds() != moved {
		t.Errorf("the time of day is an hour behind, %d, and the program says %q", moved, said)
	}
	p.CloseInput()
	if !b.Until(time.Second, p.HasEnded) || !hears(3) || said[2] != "error over\n" || ended == "" {
		t.Errorf("it says %q, and is %q", said, ended)
	}

	p = start("echo and; sleep 2; printf again")
	if began := b.Now(); !hears(1) || b.Until(time.Second, func() bool { return ended != "" }) || b.Now() < began+time.Second {
		t.Errorf("a program that sleeps for 2 s is %q after %v", ended, b.Now()-began)
	}
	b.Sleep(2 * time.Second)
	if !slices.Equal(said, []string{"and"}) || string(p.Unfinished()) != "again" || ended == "" || b.Unknown() != nil {
		t.Errorf("it says %q, then %q, and is %q: %v", said, p.Unfinished(), ended, b.Unknown())
	}
}
