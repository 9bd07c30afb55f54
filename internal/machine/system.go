package machine

import "fmt"

// LiveOn says why a system, named as by runtime.GOOS, cannot have the live world; nil: it
// can.
func LiveOn(system string) error {
	if system != "linux" {
		return fmt.Errorf("the live world needs Linux, and this is %s", system)
	}
	return nil
}
