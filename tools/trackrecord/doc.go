// Trackrecord measures the lock libraries of adapters/libraries.json and writes their record: see
// tools/internal/trackrecord.
//
//	trackrecord [-for 1m] [-only 'redsync redis-py'] [-jobs 8] [-pages | -disclosure]
//
// With -pages nothing is measured. With -disclosure it only sees that nothing is published of which the maintainers of a library are to
// hear first.
package main
