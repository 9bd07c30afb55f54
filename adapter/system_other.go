//go:build !linux

package adapter

import "os"

func monotonic() (int64, bool) { return 0, false }

func takeStdout() *os.File {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out
}
