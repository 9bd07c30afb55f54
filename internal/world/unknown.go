package world

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

// Unknown says that a run tells nothing: what happened in it was not understood.
type Unknown struct{ Why string }

func (e *Unknown) Error() string { return "what happened was not understood: " + e.Why }

// Unfit says that the servers of the world cannot carry out what the lock sends. That is nobody's fault: a trial that needs it is not
// applicable there.
type Unfit struct{ Why string }

func (e *Unfit) Error() string { return e.Why }

// Fits is the error that the lock of the world, or a fault, cannot be on the server that answered INFO so; nil: it can.
func (s *Spec) Fits(info string) error {
	if why := s.RefusedBy(command.ServerIn(info)); why != "" {
		return &Unfit{why}
	}
	return nil
}

// RefusedBy says why the lock of the world, or a fault, cannot be on a server; empty: it can.
func (s *Spec) RefusedBy(server command.Server) string {
	why := s.Lock.RefusedBy(server)
	if why == "" && s.MovesAtomically {
		why = server.Refuses("a slot that the servers move by themselves", command.MigratesSlots)
	}
	return why
}
