package world

// Unknown says that a run tells nothing: what happened in it was not understood.
type Unknown struct{ Why string }

func (e *Unknown) Error() string { return "what happened was not understood: " + e.Why }
