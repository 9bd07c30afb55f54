// Package worldtest is a small world for tests of the packages above worlds. It does
// nothing to nodes, clients or links. It records what it was asked to do, and stops or
// fails where a test says so. Its time is that of package time, so a test in a synctest
// bubble takes no real time.
package worldtest
