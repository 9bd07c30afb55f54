package client

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// WarmUp lets a client get the lock once, and give it back. Its lock then has its connections, and knows where the lock is kept, as one
// that has run for a while. That the lock is refused makes no difference.
func WarmUp(name string, c interface{ Do(q Request) Answer }) error {
	a := c.Do(Request{F: history.Acquire})
	if a.Type == history.OK {
		a = c.Do(Request{F: history.Release})
	}
	if a.Type == history.Info {
		return fmt.Errorf("client %s could not warm up: %s", name, a.Error)
	}
	return nil
}
