// Package request has what can be asked of sim, each as one value: to run scenarios, to search, to sweep, to audit a lock. Flags and
// sim.yaml fill it, shards and campaigns keep it, workers get it on standard input. The JSON name of a field is the name of its flag.
//
// A request may name a program, a command or an address. It never permits one: what permits them is a flag of the user's own command
// line (app.Permit). Passwords are never in a request.
package request
