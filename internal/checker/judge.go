package checker

import "time"

// Options say what the checker cannot read in the history.
type Options struct {
	// Timeout and Memory bound the search for an explanation; a judgement that
	// would take more is Unknown. 0: DefaultTimeout, DefaultMemory.
	Timeout time.Duration
	Memory  int64
	// Faults is how many faults the scenario planned to fire at least once;
	// where fewer took effect, what holds is Unknown.
	Faults int
	// GrantWithin bounds the liveness properties: a client must get the lock
	// within it. 0: DefaultGrantWithin.
	GrantWithin time.Duration
}

// Defaults of Options.
const (
	DefaultTimeout     = 30 * time.Second
	DefaultMemory      = 1 << 30
	DefaultGrantWithin = 5 * time.Second
)
