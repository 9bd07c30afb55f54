// Command advisory is the lock program of PostgreSQL's advisory locks, as services use them with
// pgx: a connection of its own for each lock, and pg_try_advisory_lock until it is granted.
package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redlock-sim/redlock-sim/adapter"
)

func main() {
	adapter.Serve(adapter.Program{Name: "pg-advisory", Version: adapter.ModuleVersion("github.com/jackc/pgx/v5"),
		Homepage: "https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS", Class: "session", Store: "postgres",
		About: "pg_try_advisory_lock; client pgx, a connection for each lock", Can: []string{"no-ttl"}}, open)
}

const (
	// pause between two attempts.
	pause = 50 * time.Millisecond
	// patience is how long an answer may take.
	patience = 5 * time.Second
)

func open(s adapter.Setup) (adapter.Acquire, error) {
	n := s.Nodes[0]
	address := url.URL{Scheme: "postgres", User: url.UserPassword(n.Username, n.Password),
		Host: n.Addr(), Path: "postgres", RawQuery: "sslmode=disable"}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(s.Key))
	key := int64(hash.Sum64())

	return func(ctx context.Context) (adapter.Grant, error) {
		conn, err := pgx.Connect(ctx, address.String())
		if err != nil {
			return adapter.Grant{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err) // it has not asked for the lock
		}
		for {
			granted, err := ask(conn, "select pg_try_advisory_lock($1)", key)
			if err != nil {
				hangUp(conn)
				return adapter.Grant{}, err // the lock is free once the server sees that the connection is closed
			}
			if granted {
				break
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				hangUp(conn)
				return adapter.Grant{}, fmt.Errorf("%w: taken", adapter.ErrRefused)
			}
		}
		release := func(context.Context) error {
			defer hangUp(conn)
			ours, err := ask(conn, "select pg_advisory_unlock($1)", key)
			if err == nil && !ours {
				err = fmt.Errorf("%w: the session does not hold it", adapter.ErrRefused)
			}
			return err
		}
		return adapter.Grant{Release: release}, nil
	}, nil
}

// ask asks the server for a yes or no. It waits for the answer when the wait for the lock has
// ended, too: without it nobody knows whether the lock was granted.
func ask(conn *pgx.Conn, query string, key int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = conn.QueryRow(ctx, query, key).Scan(&yes)
	return yes, err
}

// hangUp ends a session; the server releases its locks.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
