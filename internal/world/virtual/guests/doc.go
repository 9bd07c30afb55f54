// Package guests lets unmodified programs take part in a run of the virtual world: lock programs as the locks of its clients, and real
// redis-servers on its nodes. The supervisor runs them; the world carries what they send, and strikes them with its faults.
package guests
