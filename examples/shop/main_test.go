package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/app/observe"
	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func TestMain(m *testing.M) { os.Exit(suite.Live(m).Run()) }

// A broken lock is found in the running shop, and by the append-only file afterwards. A correct one is not accused.
func TestShop(t *testing.T) {
	for _, correct := range []bool{false, true} {
		t.Run(fmt.Sprintf("correct=%v", correct), func(t *testing.T) {
			address, dir := startRedis(t)
			s := shop{redis: address, buyers: 4, correct: correct}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var open sync.WaitGroup
			open.Go(func() {
				if err := s.open(ctx); err != nil {
					t.Error(err)
				}
			})
			options := keystory.Options{Keys: program.PatternsFor("", []string{"lock:*"}),
				Resource: program.PatternsFor("", []string{"sold:*"}), Moments: 100}
			want := []keystory.Kind{keystory.NotCompared, keystory.WroteWithout}
			found := make(map[keystory.Kind]bool)
			look := observe.Live{Server: observe.Server{Address: address}, For: 20 * time.Second, Story: options,
				Note: func(text string) { t.Log(text) }}
			lookCtx, end := context.WithCancel(ctx)
			defer end()
			look.Story.Tell = func(_ *keystory.Lock, f *keystory.Finding) {
				if f.Question {
					return
				}
				if found[f.Kind] = true; found[want[0]] && found[want[1]] {
					end()
				}
			}
			if correct {
				look.For = 3 * time.Second
			}
			story, err := look.Look(lookCtx)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			open.Wait()
			wantKinds(t, story, correct, want...)
			file := keystory.New(options)
			if _, err := observe.File(t.Context(), filepath.Join(dir, "appendonlydir"), strings.NewReader(""), file); err != nil {
				t.Fatal(err)
			}
			wantKinds(t, file, correct, keystory.WroteWithout)
		})
	}
}

// wantKinds wants what a broken lock does to be found, and nothing of a correct one.
func wantKinds(t *testing.T, s *keystory.Story, correct bool, kinds ...keystory.Kind) {
	t.Helper()
	var b strings.Builder
	_ = s.WriteText(&b, keystory.TextOptions{})
	t.Log(b.String())
	findings, questions := s.Tally()
	if len(s.Locks()) != 1 {
		t.Fatalf("%d locks, want 1", len(s.Locks()))
	}
	if correct {
		if s.Locks()[0].Totals.Holds < 3 {
			t.Error("the look saw nearly nothing")
		}
		if findings+questions > 0 {
			t.Errorf("a correct lock: %d findings, %d questions", findings, questions)
		}
		return
	}
	for _, kind := range kinds {
		if s.Locks()[0].Counts[kind] == 0 {
			t.Errorf("%s is not found", kind)
		}
	}
}

// startRedis starts a server that keeps an append-only file.
func startRedis(t *testing.T) (address, dir string) {
	t.Helper()
	binary, err := server.FindRedis("")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	dir = t.TempDir()
	err = machine.OnFreePort(func(port int) error {
		address = fmt.Sprintf("127.0.0.1:%d", port)
		child, err := machine.Start("redis-server", exec.Command(binary, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "yes", "--aof-timestamp-enabled", "yes"))
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = child.Kill(); machine.ReturnPort(port) })
		client := redis.NewClient(&redis.Options{Addr: address})
		defer func() { _ = client.Close() }()
		suite.Succeeds(t, "an answer of redis-server", func() error { return client.Ping(t.Context()).Err() })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return address, dir
}
