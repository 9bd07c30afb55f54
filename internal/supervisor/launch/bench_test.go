//go:build linux && amd64

package launch

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkNotified: a call that is told and let through, such as openat of a file that nobody replaces.
func BenchmarkNotified(b *testing.B) {
	for name, told := range map[string][]int{"native": nil, "told": {unix.SYS_GETPID}} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			self, _ := os.Executable()
			p, err := Start(Options{Path: self, Args: []string{"child"}, Files: [3]uintptr{0, 1, 2}, Notify: told,
				Env: []string{childVariable + "=" + asks, "GOMAXPROCS=1", "N=" + strconv.Itoa(b.N)}})
			if err != nil {
				b.Skip(err)
			}
			defer p.End()
			letRun(b, p)
		})
	}
}
