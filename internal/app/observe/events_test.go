package observe

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// withoutMonitor begins a look at keys, without MONITOR.
func withoutMonitor(t *testing.T, s Server, patterns ...string) (*watching, func() *keystory.Story) {
	t.Helper()
	l := &Looks{Live: Live{WithoutMonitor: true, Patterns: patterns}, Places: []Place{{Server: s}}}
	w, end := lookAt(t, l)
	return w, func() *keystory.Story {
		t.Helper()
		seen, _ := end()
		if seen[0].Err != nil {
			t.Fatal(seen[0].Err)
		}
		return seen[0].Story
	}
}

// Without MONITOR it is known who had a lock, by its value, and when; what only commands tell is no finding. The user may do no more
// than the
// guide says, and the server refuses nothing.
func TestWithoutMonitor(t *testing.T) {
	address, admin := startRedis(t, "--notify-keyspace-events", "KA")
	ctx := t.Context()
	words := []any{"ACL", "SETUSER", "observer"}
	rights := leastRights(t, "ACL SETUSER events ")
	for word := range strings.FieldsSeq(strings.NewReplacer(">PASSWORD", ">secret").Replace(rights)) {
		words = append(words, word)
	}
	if err := admin.Do(ctx, words...).Err(); err != nil {
		t.Fatal(err)
	}
	if denied := admin.Do(ctx, "ACL", "DRYRUN", "observer", "SET", "lock:a", "x").Val(); denied == "OK" {
		t.Error("the rights of the guide let its user write")
	}
	admin.Set(ctx, "lock:before", "b", time.Minute)
	w, end := withoutMonitor(t, Server{Address: address, Username: "observer", Password: "secret"}, "lock:*")
	suite.Eventually(t, "a look", func() bool { return w.noted("neither who did it nor whether it compared") })
	admin.SetNX(ctx, "lock:a", "a", time.Minute)
	n := 0
	suite.Eventually(t, "an overwritten lock", func() bool {
		n++
		admin.Set(ctx, "lock:over", fmt.Sprint("owner-", n), time.Minute)
		return w.finds("lock:over", "[overwritten?]")
	})
	admin.Expire(ctx, "lock:a", 2*time.Minute)
	admin.Set(ctx, "lock:short", "s", 30*time.Millisecond)
	suite.Eventually(t, "a lock that runs out", func() bool { return admin.Exists(ctx, "lock:short").Val() == 0 })
	suite.Eventually(t, "an evicted lock", func() bool {
		admin.Set(ctx, "lock:evicted", "e", time.Minute)
		admin.ConfigSet(ctx, "maxmemory-policy", "allkeys-random")
		admin.ConfigSet(ctx, "maxmemory", "1")
		admin.SetNX(ctx, "lock:evicted", "e", time.Minute)
		admin.ConfigSet(ctx, "maxmemory", "0")
		return w.finds("[evicted]")
	})
	admin.Del(ctx, "lock:a")
	story := end()
	for _, k := range story.Locks() {
		for _, f := range k.Findings {
			if f.Kind != keystory.EvictedKey && !f.Question {
				t.Errorf("%s", k.Line(f))
			}
		}
	}
	if log := admin.Do(ctx, "ACL", "LOG").Val(); len(log.([]any)) != 0 {
		t.Errorf("the server refused something: %v", log)
	}
}

// Where the server sends no events, sim asks for the keys that are named, and says how to have events. It never writes.
func TestNoEvents(t *testing.T) {
	address, admin := startRedis(t)
	ctx := t.Context()
	look := Live{Server: Server{Address: address}, WithoutMonitor: true, Patterns: []string{"lock:*"}, Note: func(string) {},
		Story: keystory.Options{Keys: fits("lock")}}
	var none *NoEventsError
	if _, err := look.Look(ctx); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	w, end := withoutMonitor(t, Server{Address: address}, "lock:a", "lock:b")
	suite.Eventually(t, "a note", func() bool {
		return w.noted("CONFIG SET notify-keyspace-events KA does): it asks for 2 keys each 100ms")
	})
	admin.SetNX(ctx, "lock:a", "5f2b81c0-77ae-4d19", 0)
	suite.Eventually(t, "a lock without a TTL", func() bool { return w.finds("lock:a", "[kept-without-ttl]") })
	admin.Del(ctx, "lock:a")
	admin.Set(ctx, "lock:a", "another", time.Minute)
	suite.Eventually(t, "another holder", func() bool { return admin.Get(ctx, "lock:a").Val() == "another" })
	if setting := admin.ConfigGet(ctx, "notify-keyspace-events").Val()["notify-keyspace-events"]; setting != "" {
		t.Errorf("the look has set notify-keyspace-events to %q", setting)
	}
	if n := len(end().Locks()); n != 2 {
		t.Errorf("%d locks", n)
	}
	if w.finds("[overwritten") || w.finds("[vanished") {
		t.Errorf("somebody is accused by what nobody saw:\n%s", w.all())
	}
}
