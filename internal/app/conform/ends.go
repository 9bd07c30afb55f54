package conform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// endOfInput counts only what happens each time: a second may be short on a machine that
// does much else.
func endOfInput(ctx context.Context, s *suite) (err error) {
	for range 3 {
		if err = ends(ctx, s); err == nil {
			return nil
		}
		if err := s.reset(ctx); err != nil {
			return err
		}
	}
	return err
}

// ends ends the input of a client that holds the lock, and of one that waits for it.
func ends(ctx context.Context, s *suite) error {
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c1, _, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	const mend = "read standard input while a request is under way, and end the program when it ends"
	c2.post(acquireMessage(time.Minute))
	if err := s.place.sleep(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	finding := c2.finding(fmt.Sprintf("%v after the end of its input c2, which waited for the lock, still ran", program.EndWithin),
		"it ends within this time", mend)
	if !s.close("c2") {
		return finding
	}
	finding = c1.finding(fmt.Sprintf("%v after the end of its input c1, which held the lock, still ran", program.EndWithin),
		"it ends within this time", mend)
	if !s.close("c1") {
		return finding
	}
	return s.nodes.reset(ctx)
}

// nothingLeft looks at what is there when no program runs any more.
func nothingLeft(ctx context.Context, s *suite) error {
	c, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	if err := s.give(ctx, c, h); err != nil {
		return err
	}
	s.closeAll()
	var left []string
	gone, err := s.eventually(ctx, time.Second, func() (bool, error) {
		left = s.place.leftRunning()
		return len(left) == 0, nil
	})
	if err != nil {
		return err
	}
	if !gone {
		return c.finding("the program ended, and left running: "+strings.Join(left, ", "),
			"what it has started ends with it", "end child processes when standard input ends")
	}
	keys, err := s.nodes.locks(ctx, s)
	if err != nil {
		return err
	}
	for _, e := range keys {
		if e.ttl < 0 && !s.leased() {
			return c.finding(fmt.Sprintf("c1 released the lock and ended, and the key %s stays for ever", e),
				"no key without an end, but the counter of tokens",
				"delete the key at the release, or give it a time to live").against("")
		}
	}
	return nil
}

// repeats sees that virtual time can be trusted for the program: one seed makes one run.
func repeats(ctx context.Context, s *suite) error {
	var difference string
	var err error
	aside(func() { difference, err = s.Virtual.Repeats(ctx, s.ready, s.ttl()) })
	if err != nil || difference == "" {
		return err
	}
	return &Finding{Seen: difference, Expected: "the same bytes, each time that a seed is run",
		Mend: "it is no fault of the lock: look for what is new each time, such as a number of the machine in a key or a value. " +
			"--world live does not need it"}
}

// aside does something in a goroutine of its own: that of the checks may be bound to a thread.
func aside(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

// messages is about all lines of all checks.
func messages(_ context.Context, s *suite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, field := range slices.Sorted(maps.Keys(s.odd)) {
		s.note("the protocol has no field %s; it is ignored: %s", field, s.odd[field])
	}
	if len(s.bad) == 0 {
		return nil
	}
	l := s.bad[0]
	return &Finding{Seen: fmt.Sprintf("%s that the schema refuses: %s", words.Count(len(s.bad), "line"), l.Wrong), Line: l.String(),
		Expected: "what sim schema lock-protocol prints", Mend: mendLine(l)}
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
