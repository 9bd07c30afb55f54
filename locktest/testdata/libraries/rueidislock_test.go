package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlock-sim/redlock-sim/locktest"
)

func TestRueidislock(t *testing.T) {
	locktest.Run(t, locktest.Config{Keys: []string{"rueidislock:*:{key}"}, For: lasts}, openRueidislock)
}

type rueidislockLock struct {
	locker rueidislock.Locker
	key    string
	unlock context.CancelFunc
}

func openRueidislock(e locktest.Env) (locktest.Lock, error) {
	nodes := make(map[string]locktest.Node)
	var addrs []string
	for _, n := range e.Nodes {
		nodes[n.Addr] = n
		addrs = append(addrs, n.Addr)
	}
	o := rueidis.ClientOption{InitAddress: addrs,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return nodes[addr].Dial(ctx, "tcp", addr)
		}}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: o, KeyValidity: e.TTL, KeyMajority: 1})
	if err != nil {
		return nil, err
	}
	e.Cleanup(locker.Close)
	return &rueidislockLock{locker: locker, key: e.Key}, nil
}

// Acquire asks with a context of its own: the lock lasts as long as that.
func (l *rueidislockLock) Acquire(ctx context.Context) (locktest.Grant, error) {
	long, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	held, unlock, err := l.locker.WithContext(long, l.key)
	stop()
	if err != nil {
		cancel()
		return locktest.Grant{}, err
	}
	l.unlock = func() { unlock(); cancel() }
	return locktest.Grant{Lost: held.Done()}, nil
}

func (l *rueidislockLock) Release(context.Context) error {
	l.unlock()
	return nil
}
