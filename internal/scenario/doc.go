// Package scenario reads scenarios: which lock is tested, on how many nodes, what the
// clients do, which faults strike, and what verdicts are expected. It knows no worlds.
package scenario
