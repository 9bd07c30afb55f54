// Package trial tests the lock of a scenario. It runs every variant, has the histories
// judged, compares the verdicts with the expectations, and stores everything in the
// run's folder.
package trial
