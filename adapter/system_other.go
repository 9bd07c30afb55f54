//go:build !linux

package adapter

import "os"

func monotonic() int64 { return 0 }

func takeStdout() *os.File {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out
}
