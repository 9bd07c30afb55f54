package server

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/driver"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestABusyServerIsWaitedFor: what it refuses while a script runs is asked again, and no other refusal is.
func TestABusyServerIsWaitedFor(t *testing.T) {
	if _, err := FindRedis(""); err != nil {
		suite.Lacks(t, "redis-server")
	}
	ctx := context.Background()
	spec := &world.Spec{Name: t.Name(), Dir: t.TempDir(), Nodes: []world.Node{{Name: "A"}}, Lock: lock.Config{}}
	s, err := New(ctx, spec, spec.Dir, Options{Nodes: Process})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	a := s.Nodes["A"]
	if err := a.Admin.ConfigSet(ctx, "lua-time-limit", "5").Err(); err != nil {
		t.Fatal(err)
	}
	impatient := driver.New(redis.Options{Addr: a.Address(), Password: a.password})
	defer func() { _ = impatient.Close() }()
	ended := make(chan error, 1)
	go func() {
		ended <- impatient.Eval(ctx, `local function now() local t = redis.call('time') return t[1] * 1000000 + t[2] end
			local till = now() + 300000 while now() < till do end return 1`, nil).Err()
	}()
	suite.Eventually(t, "a busy server", func() bool { return redis.HasErrorPrefix(impatient.Ping(ctx).Err(), "BUSY ") })
	if list, err := a.Admin.ClientList(ctx).Result(); err != nil || list == "" {
		t.Errorf("a busy server: %q, %v", list, err)
	}
	if err := suite.Receive(t, "the end of the script", ended); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"", "BUSYGROUP"} {
		begun := time.Now()
		if err := a.Admin.XGroupCreateMkStream(ctx, "stream", "group", "$").Err(); (err == nil) != (want == "") ||
			err != nil && !redis.HasErrorPrefix(err, want) || time.Since(begun) > busyWithin/2 {
			t.Errorf("%v after %v, want %q", err, time.Since(begun), want)
		}
	}
}
