// Package nemesis holds the faults, and the schedule that fires them. Each kind of fault
// is one small file that registers itself by name. It acts on a world through the powers
// that package world names. It knows neither locks nor checkers.
package nemesis
