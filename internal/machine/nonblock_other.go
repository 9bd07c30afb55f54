//go:build !js

package machine

import "syscall"

const nonBlocking = syscall.O_NONBLOCK
