package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Cancel is the kind that cancels attempts. A search draws it only where it is asked for, or where a lock program says that it can cancel.
const Cancel = "cancel"

func init() {
	register(Kind{
		Name: Cancel,
		Title: "cancel the attempt of a client to get the lock that is under way, as a user does whose request has ended " +
			"(Go's context, Java's interrupt, Python's task.cancel)",
		New: func() Fault { return &cancel{} },
	})
}

// cancel cancels an attempt. It is over at once; where no attempt is under way, it takes no effect.
type cancel struct {
	Client string `yaml:"client" doc:"the client whose attempt is cancelled" required:"true"`
}

func (c *cancel) Target() string        { return c.Client }
func (c *cancel) Length() time.Duration { return 0 }

// IsOver implements instant.
func (c *cancel) IsOver() {}

func (c *cancel) Check(cast Cast) []Complaint {
	return complainUnknown("client", "client", c.Client, cast.Clients)
}

// Impact implements Fault.
func (c *cancel) Impact(world.World) history.Impact {
	return history.Impact{Words: "the attempt of " + c.Client + " was cancelled", Instant: true,
		Effects: []history.Strike{{Does: history.Cancels, Clients: []string{c.Client}}}}
}

func (c *cancel) Begin(w world.World) (undo func() error, err error) {
	return func() error { return nil }, w.Cancel(c.Client)
}

// Cancels reports that a fault cancels attempts.
func Cancels(f Fault) bool {
	_, is := f.(*cancel)
	return is
}
