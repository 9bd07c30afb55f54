package postgres

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestPostgresDoesWhatTheScriptsDo runs random accesses on a real PostgreSQL and on
// the scripts' twins, and wants equal answers and equal logs, but for the time.
func TestPostgresDoesWhatTheScriptsDo(t *testing.T) {
	t.Parallel()
	if _, err := FindPostgres(); err != nil {
		suite.Lacks(t, "PostgreSQL")
	}
	ctx := context.Background()
	scratch, err := machine.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = machine.Discard(scratch) })
	p, err := Start(ctx, scratch, filepath.Join(t.TempDir(), "postgres.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	var told []string
	if err := p.Listen(ctx, func(entry string) { told = append(told, entry) }); err != nil {
		t.Fatal(err)
	}
	conn, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var scripts []*command.Script
	for _, s := range resource.Scripts() {
		if resource.PostgresCall(s) != "" {
			scripts = append(scripts, s)
		}
	}
	if len(scripts) != 4 {
		t.Fatalf("%d scripts have a function", len(scripts))
	}
	rapid.Check(t, func(t *rapid.T) {
		if _, err := conn.Exec(ctx, "truncate numbers, lists, fences, effects"); err != nil {
			t.Fatal(err)
		}
		told = told[:0]
		model := commandtest.NewNode("resource", &commandtest.Clock{})
		number := rapid.SampledFrom([]string{"0", "1", "7", "9007199254740993"})
		var fences []string
		for _, f := range resource.Fences() {
			if f != resource.LockOwner {
				fences = append(fences, string(f))
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "accesses") {
			s := rapid.SampledFrom(scripts).Draw(t, "script")
			op := map[string]string{"check": "write", "take": "cas"}[s.Name]
			if op == "" {
				op = rapid.SampledFrom([]string{"read", "write"}).Draw(t, "op")
			}
			args := []string{op, rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "client"), "1",
				rapid.SampledFrom([]string{"", "1", "2", "10"}).Draw(t, "token"), rapid.SampledFrom(fences).Draw(t, "fence"),
				rapid.SampledFrom([]string{"", "b"}).Draw(t, "cell"), "", "5", number.Draw(t, "number")}
			key := "value"
			if s.Name == "list" {
				key = "list"
				args = append(args, rapid.SliceOfN(number, 0, 3).Draw(t, "list")...)
			}
			keys := []string{key, "fence", "log", ""}
			var got []string
			if err := conn.QueryRow(ctx, resource.PostgresCall(s), keys, args).Scan(&got); err != nil {
				t.Fatalf("%s %q: %v", s.Name, args, err)
			}
			if want := model.Do(command.Eval(s, keys, args...)).List(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s %q: PostgreSQL answers %q, the twin %q", s.Name, args, got, want)
			}
		}
		if err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := timeless(told), timeless(model.Memory().LRange("log")); !reflect.DeepEqual(got, want) {
			t.Fatalf("PostgreSQL told of\n%q, the twin logged\n%q", got, want)
		}
	})
}

// timeless are entries of the log without their times.
func timeless(entries []string) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		fields := strings.Split(e, "|")
		fields[7] = ""
		list[i] = strings.Join(fields, "|")
	}
	return list
}
