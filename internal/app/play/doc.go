// Package play makes the playground: a page in which people change a scenario and see at once what comes of it. The
// engine that it computes with is package engine, compiled to WebAssembly.
//
// The engine is 2.6 MB, compressed, and changes with almost every change of this project, so it is not in the
// repository. `make play` and releases compile it into built/, and sim embeds it from there. `make build` leaves it out,
// for it is compiled for the browser alone. After `go install` Load compiles it with the Go toolchain, once for each
// version, into the user's cache. A stamp tells one build from another: sim refuses an engine of another stamp than its
// own, and the page does the same.
package play
