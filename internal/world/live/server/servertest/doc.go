// Package servertest starts, for tests, a redis-server whose clock stands still where the
// test sets it. So its answers can be compared to the millisecond.
package servertest
