package world

import "slices"

// Process are the clients that share the process of one, in their order: so many clients are in each, the last one may have fewer.
// The first stands for the process: its links carry what all of them send.
func Process(clients []string, each int, client string) []string {
	i := slices.Index(clients, client)
	if i < 0 {
		return nil
	}
	from := i - i%max(each, 1)
	to := min(from+max(each, 1), len(clients))
	return clients[from:to:to]
}

// Process are the clients that share the process of one.
func (s *Spec) Process(client string) []string { return Process(s.Clients, s.PerProcess, client) }

// Processes are the clients of each process of which there are several; nil: each client has one of its own.
func (s *Spec) Processes() (list [][]string) {
	for of := range slices.Chunk(s.Clients, max(s.PerProcess, 1)) {
		if len(of) > 1 {
			list = append(list, of)
		}
	}
	return list
}
