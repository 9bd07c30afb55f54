// Package commandtest is a Redis node in memory, for tests of code that is written
// against package command. It carries out commands at once, on a clock that the test
// moves. A test may intercept any command.
package commandtest
