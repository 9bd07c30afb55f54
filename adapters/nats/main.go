// Command nats is the lock program of a lock in the KV store of NATS JetStream, as its own operations make one: Create takes it, Update at
// its revision extends it, Delete at its revision gives it back, and the bucket's TTL ends it. nats.go has no lock of its own.
//
//go:debug randseednop=0
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redlock-sim/redlock-sim/adapter"
)

const between = 50 * time.Millisecond // two attempts

func main() {
	adapter.Serve(adapter.Program{Name: "nats-kv", Version: adapter.ModuleVersion("github.com/nats-io/nats.go"),
		Homepage: "https://docs.nats.io/nats-concepts/jetstream/key-value-store", Class: "session", Store: "nats",
		About: "jetstream.KeyValue: Create, Update, Delete with LastRevision, a bucket with a TTL; nats.go, the timeouts of its client",
		Can:   []string{"extend", "token", "setup-again"}, TTLMin: 100}, open)
}

func open(s adapter.Setup) (adapter.Acquire, error) {
	conn, err := nats.Connect("nats://"+s.Nodes[0].Addr(), nats.Name(s.Client))
	if err != nil {
		return nil, err
	}
	s.OnClose(conn.Close)
	stream, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	l := &lock{stream: stream, bucket: jetstream.KeyValueConfig{Bucket: fmt.Sprintf("locks-%d", s.TTL.Milliseconds()), TTL: s.TTL},
		key: hex.EncodeToString([]byte(s.Key)), value: []byte(s.Client)}
	return l.acquire, nil
}

type lock struct {
	stream jetstream.JetStream
	bucket jetstream.KeyValueConfig
	kv     jetstream.KeyValue
	key    string
	value  []byte
}

// acquire asks again and again: Create tries once.
func (l *lock) acquire(ctx context.Context) (g adapter.Grant, err error) {
	if l.kv == nil { // the bucket is there, or is made
		if l.kv, err = l.stream.CreateOrUpdateKeyValue(ctx, l.bucket); err != nil {
			return g, fmt.Errorf("%w: %w", adapter.ErrRefused, err) // it has not asked for the lock
		}
	}
	for {
		revision, err := l.kv.Create(ctx, l.key, l.value)
		if err == nil {
			return l.grant(revision), nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return g, err
		}
		select {
		case <-ctx.Done():
			return g, fmt.Errorf("%w: taken", adapter.ErrRefused)
		case <-time.After(between):
		}
	}
}

// grant is what one revision of the key is good for.
func (l *lock) grant(revision uint64) adapter.Grant {
	token := int64(revision)
	return adapter.Grant{Token: &token,
		Extend: func(ctx context.Context) (time.Time, error) {
			next, err := l.kv.Update(ctx, l.key, l.value, revision)
			if err == nil {
				revision = next
			}
			return time.Time{}, refused(err)
		},
		Release: func(ctx context.Context) error {
			return refused(l.kv.Delete(ctx, l.key, jetstream.LastRevision(revision)))
		}}
}

// refused says of an error that the key has another revision that the server has done nothing.
func refused(err error) error {
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	return err
}
