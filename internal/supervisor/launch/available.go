package launch

import "github.com/redlock-sim/redlock-sim/internal/words"

// Check is one thing that programs in virtual time use of the machine.
type Check struct {
	Name string
	// Found describes what is there.
	Found string
	// Replaced says that the machine does not have it and programs run all the same, as Found says.
	Replaced bool
	// Err says what is missing, Hint what to do about it. Without it no program runs in virtual time.
	Err  error
	Hint string
}

// Missing is the first thing without which no program runs in virtual time; nil: all is there.
func Missing(checks []Check) error {
	for _, c := range checks {
		if c.Err != nil {
			return words.WithHint(c.Err, c.Hint)
		}
	}
	return nil
}

// instead is what works where programs cannot run in virtual time.
const instead = "--world live, or a built-in lock with --world virtual, works without it"
