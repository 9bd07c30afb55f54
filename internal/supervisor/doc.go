// Package supervisor runs unmodified Linux programs in virtual time. It knows hosts, programs, bytes, clocks and files, and nothing of
// what the programs are for. DESIGN.md says how it works.
//
//	s, err := supervisor.New(supervisor.Config{Seed: 1, Wall: wall, Network: network})
//	a := s.NewHost("a", [4]byte{127, 0, 1, 1})
//	p, err := a.Start(supervisor.Command{Path: "/usr/bin/python3", Args: []string{"lock.py"}, Output: take})
//	s.Run(time.Hour) // until something is told, or for an hour of the programs, which may take a millisecond
//
// A supervisor is for one goroutine, which stays on its thread from New to Close: the kernel kills the programs when that thread ends.
// Several supervisors in one process, each with its own goroutine, do not know of each other.
//
// # Time
//
// Run lets all programs run until each thread waits. Then time jumps to the next instant at which one goes on. It returns at the time
// that it was given, or earlier, at once when something is told: a connection is opened, something was sent, a line was written, a
// program has ended. Between two calls of Run time stands still: the caller can look at files, or deliver, as long as it likes.
// With one seed, the same programs and the same deliveries at the same times, all that is told is the same, byte for byte.
//
// Doubt says why what is told cannot be trusted: a program did what is not modelled. Then nothing goes on.
//
// # Connections
//
// Network is told what programs do to connections, and answers by the methods of Conn, now or at a later time. So the delay of each
// message is the caller's. A caller who wants a connection of its own to a program makes it by NewConn and Connect.
package supervisor
