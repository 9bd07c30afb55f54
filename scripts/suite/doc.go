// Command suite runs the tests: those of `make test`, all of them, or those of `make test` and a part of the others. internal/testkit/suite
// has what tests say to it.
//
// Packages with live tests run one at a time, beside all others. What `go test` prints of a package that passes is one line; of one
// that fails, what its failed tests printed. The last lines say what failed, what could not be run and why, and how long it took.
package main
