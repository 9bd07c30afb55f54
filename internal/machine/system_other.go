//go:build !linux

package machine

import (
	"io/fs"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"time"
)

// The live world needs Linux. Elsewhere no process can be started, so the rest of this
// package has nothing to do.

const sigStop, sigContinue = syscall.Signal(0), syscall.Signal(0)

func attributes(syscall.Signal, *User) (*syscall.SysProcAttr, error) {
	return nil, LiveOn(runtime.GOOS)
}

func hasStopped(int) (bool, error)     { return false, LiveOn(runtime.GOOS) }
func signal(int, syscall.Signal) error { return LiveOn(runtime.GOOS) }
func GroupOf(int) int                  { return 0 }
func awaitEnd(int)                     {}
func reap(int)                         {}
func isMine(fs.FileInfo) bool          { return false }
func userOf(fs.FileInfo) string        { return "" }
func removeSegment(int) error          { return LiveOn(runtime.GOOS) }

func Adopt() error                   { return LiveOn(runtime.GOOS) }
func Monotonic() time.Duration       { panic(LiveOn(runtime.GOOS)) }
func BindToDevice(int, string) error { return LiveOn(runtime.GOOS) }

func SocketUser(local, remote netip.AddrPort) (uint32, error) { return 0, LiveOn(runtime.GOOS) }

func TryLock(*os.File) (bool, error) { return false, LiveOn(runtime.GOOS) }
