package checker

import (
	"context"
	"strings"
	"testing"
	"time"
)

// In virtual time a client may ask to release its lock in the instant in which it got it. It had the lock again nevertheless.
func TestComesBackReleasedAtOnce(t *testing.T) {
	s := newScript()
	s.fault(0, true, 1, "stall", "all clients to A")
	s.refused(10, 3000, "c1")
	s.acquire(3010, 5000, "c1", 6000, -1)
	s.release(5000, 5000, "c1")
	f := Judge(context.Background(), &s.h, []Property{ComesBack}, Options{GrantWithin: 2 * time.Second})[0]
	checkShape(t, &s.h, f)
	if want := "c1 had the lock again only after 4.99 s, in 2 requests"; f.Verdict != Violated || !strings.Contains(f.Why, want) {
		t.Errorf("%v: %q, want %q", f.Verdict, f.Why, want)
	}
}
