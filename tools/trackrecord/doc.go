// Trackrecord measures the lock libraries of adapters/libraries.json and writes their record: see
// tools/internal/trackrecord.
//
//	trackrecord [-for 20m] [-only 'redsync redis-py'] [-jobs 8] [-pages]
//
// With -pages nothing is measured.
package main
