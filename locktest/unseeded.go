//go:build !locktest_seeded

package locktest

// seedGlobalRand does nothing: nothing can seed math/rand/v2 (see seeded.go).
func seedGlobalRand(uint64) {}
