//go:build !linux || !amd64

package launch

import (
	"fmt"
	"runtime"
)

// Available says that programs cannot run in virtual time here.
func Available() []Check {
	return []Check{{Name: "system", Hint: instead,
		Err: fmt.Errorf("programs run in virtual time on Linux on amd64 alone, and this is %s/%s", runtime.GOOS, runtime.GOARCH)}}
}
