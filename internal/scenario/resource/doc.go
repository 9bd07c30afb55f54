// Package resource holds what a lock protects: data in a store of its own, the check of
// fencing tokens before every access, and a log of every effect. It is written against
// command.Node and knows no locks.
package resource
