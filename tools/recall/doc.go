// Command recall puts lock libraries on trial in the version in which users reported a fault, and in the one that has it mended, and
// writes docs/internals/recall.md: which of the faults sim shows, and whether it is silent where they are mended. What it has measured with
// the same sim, it does not measure again.
//
// adapters/museum/museum.json lists the faults, adapters/museum/results.json has what was measured.
package main
