package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestKept keeps data while those who use the server come and go.
func TestKept(t *testing.T) {
	t.Parallel()
	if _, err := FindPostgres(); err != nil {
		suite.Lacks(t, "PostgreSQL")
	}
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30), "database") // longer than a socket's path may be
	ask := func(k *Kept, text string) (answer string) {
		t.Helper()
		config, err := pgx.ParseConfig(k.URL())
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = k.Dial
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }()
		if err := conn.QueryRow(ctx, text).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	open := func() *Kept {
		t.Helper()
		k, err := OpenKept(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		return k
	}
	first := open()
	second := open()
	if !first.Started() || second.Started() {
		t.Errorf("the first started the server: %v, the second: %v", first.Started(), second.Started())
	}
	made := ask(second, "select system_identifier::text from pg_control_system()")
	first.Close()
	if got := ask(second, "select system_identifier::text from pg_control_system()"); got != made || !second.Started() {
		t.Errorf("the second goes on with %s, want %s (started: %v)", got, made, second.Started())
	}
	second.Crash()
	if got := ask(open(), "select system_identifier::text from pg_control_system()"); got != made {
		t.Errorf("after a crash there is %s, want %s", got, made)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v (%v): nobody else may enter it", info.Mode(), err)
	}
}
