// Command shop sells one thing to many buyers, who lock it in Redis: a small application whose lock is broken, for sim observe to look at.
//
//	redis-server --port 7379 --save '' --appendonly yes --aof-timestamp-enabled yes
//	go run ./examples/shop -redis 127.0.0.1:7379 -for 1m
//	sim observe redis://127.0.0.1:7379 --keys 'lock:*' --resource 'sold:*' --for 30s
//
// A buyer sets the lock with a TTL, which is right, and removes it with DEL, which is not: one who is slower than the TTL removes the lock
// of the next. With -lock correct a script compares first, and the TTL is long enough.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// shop is how the shop sells.
type shop struct {
	redis  string
	buyers int
	// correct: the lock compares before it removes, and its TTL is longer than any work.
	correct bool
}

var release = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

const (
	lockKey  = "lock:book"
	soldKey  = "sold:book"
	quick    = 5 * time.Millisecond
	slow     = 80 * time.Millisecond
	askAgain = 3 * time.Millisecond
)

func main() {
	s := shop{}
	flag.StringVar(&s.redis, "redis", "127.0.0.1:6379", "the address of the Redis server")
	flag.IntVar(&s.buyers, "buyers", 4, "how many buyers there are")
	kind := flag.String("lock", "broken", "broken or correct")
	length := flag.Duration("for", time.Minute, "how long the shop is open")
	flag.Parse()
	s.correct = *kind == "correct"
	ctx, cancel := context.WithTimeout(context.Background(), *length)
	defer cancel()
	if err := s.open(ctx); err != nil {
		log.Print("shop: ", err)
	}
}

// open lets the buyers buy until ctx ends.
func (s *shop) open(ctx context.Context) error {
	failed := make([]error, s.buyers)
	var all sync.WaitGroup
	for i := range s.buyers {
		all.Go(func() { failed[i] = s.buy(ctx, i) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// buy is what one buyer does: each is a process of its own in the real world, so each has its own client.
func (s *shop) buy(ctx context.Context, buyer int) error {
	client := redis.NewClient(&redis.Options{Addr: s.redis})
	defer func() { _ = client.Close() }()
	ttl := 50 * time.Millisecond
	if s.correct {
		ttl = time.Minute
	}
	for n := 0; ctx.Err() == nil; n++ {
		owner := fmt.Sprintf("buyer-%d-%s", buyer, rand.Text()[:12])
		if err := s.lock(ctx, client, owner, ttl); err != nil {
			return ignoreEnd(ctx, err)
		}
		work := quick
		if n%3 == buyer%3 {
			work = slow // the payment takes longer than usual
		}
		time.Sleep(work)
		// What is under way is brought to its end: a buyer does not leave in the middle.
		err := client.RPush(context.WithoutCancel(ctx), soldKey, "sold to "+owner).Err()
		if s.correct {
			err = errors.Join(err, release.Run(context.WithoutCancel(ctx), client, []string{lockKey}, owner).Err())
		} else {
			err = errors.Join(err, client.Del(context.WithoutCancel(ctx), lockKey).Err())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lock waits for the lock.
func (s *shop) lock(ctx context.Context, client *redis.Client, owner string, ttl time.Duration) error {
	for {
		got, err := client.SetNX(ctx, lockKey, owner, ttl).Result()
		if err != nil || got {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// ignoreEnd leaves out the error of a shop that closes.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
