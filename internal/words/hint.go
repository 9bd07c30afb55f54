package words

// Hinted is an error that a user can mend, with what to do about it.
type Hinted struct {
	Err  error
	Hint string
}

// WithHint adds a hint to an error.
func WithHint(err error, hint string) error { return &Hinted{err, hint} }

// Error has the hint on a line of its own.
func (h *Hinted) Error() string { return h.Err.Error() + "\nhint: " + h.Hint }

func (h *Hinted) Unwrap() error { return h.Err }
