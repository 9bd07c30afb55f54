package suite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const holdVariable = "SUITE_TEST_HOLDS"

// TestMain is also the process that has the turn while TestTurn waits for it.
func TestMain(m *testing.M) {
	path := os.Getenv(holdVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := takeTurn(context.Background(), path, os.Stdout); err != nil {
		panic(err)
	}
	if _, err := os.Stdout.WriteString("has it\n"); err != nil {
		panic(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
}

// TestTurn: one process at a time has the turn, the next says for whom it waits, and a killed process has it no more.
func TestTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdVariable+"="+path)
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "has it\n" {
		t.Fatalf("the other process says %q: %v", line, err)
	}
	said := make(chan string, 10)
	done := make(chan error, 1)
	go func() {
		end, err := takeTurn(t.Context(), path, lines(said))
		if err == nil {
			end()
		}
		done <- err
	}()
	if line := Receive(t, "word of the wait", said); !strings.HasPrefix(line, waits+"process ") {
		t.Fatalf("it says %q while it waits", line)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := takeTurn(ended, path, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever is interrupted goes on to wait: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if err := Receive(t, "the turn of a killed process", done); err != nil {
		t.Fatal(err)
	}
	if line := Receive(t, "how long it waited", said); !strings.HasPrefix(line, Waited) {
		t.Fatalf("it says %q after it waited", line)
	}
	var quiet bytes.Buffer
	end, err := takeTurn(t.Context(), path, &quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if quiet.Len() > 0 {
		t.Errorf("it says %q though nobody has the turn", quiet.String())
	}
}

// lines is a writer that hands on what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestParts: each name belongs to one of eight parts, and to no part of none.
func TestParts(t *testing.T) {
	for _, name := range []string{"TestA", "TestScripts/audit", "TestB/c"} {
		n := 0
		for part := 1; part <= 8; part++ {
			if InPart(name, part, 8) {
				n++
			}
		}
		if n != 1 || InPart(name, 0, 0) || !InPart(name, 1, 1) {
			t.Errorf("%s belongs to %d of eight parts", name, n)
		}
	}
	for _, value := range []string{"3", "0/8", "9/8", "3/8x", "-1/8", "some", "3/ 8"} {
		if _, _, err := Part(value); err == nil {
			t.Errorf("%q is taken for a part", value)
		}
	}
	if part, parts, err := Part("3/8"); part != 3 || parts != 8 || err != nil {
		t.Errorf("3/8 is part %d of %d: %v", part, parts, err)
	}
}
