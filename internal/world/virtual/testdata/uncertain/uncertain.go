// Package uncertain does everything that the virtual world must not do.
package uncertain

import (
	"math/rand/v2"
	"time"
)

func everything(m map[string]int, c chan int) int {
	go func() { c <- 1 }()
	time.Sleep(time.Since(time.Now()))
	for _, n := range m {
		return n + rand.IntN(2)
	}
	return 0
}
