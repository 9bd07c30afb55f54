package program

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// ImagePrefix begins the command of a program that is in an image: "image:NAME".
const ImagePrefix = "image:"

// Contain is the command of sim that runs an image as a program.
const Contain = "contain"

// Image is the image that a command names.
func Image(command []string) (name string, named bool) {
	if len(command) == 0 {
		return "", false
	}
	return strings.CutPrefix(command[0], ImagePrefix)
}

// Process is what to start: the program, or this one, which runs its image and hands on what is
// said.
func (o *Options) Process() (*exec.Cmd, error) {
	image, named := Image(o.Command)
	if !named {
		cmd := exec.Command(o.Command[0], o.Command[1:]...)
		cmd.Env, cmd.Dir = environ(o), o.Dir
		return cmd, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("failed to find my own program: %w", err)
	}
	words := []string{Contain}
	for _, v := range o.Env {
		words = append(words, "--env", v)
	}
	return exec.Command(self, append(append(words, "--", image), o.Command[1:]...)...), nil
}

// environ is the environment of a program, which may be this very one.
func environ(o *Options) []string {
	if self, err := os.Executable(); err == nil && o.Command[0] == self {
		return machine.OwnEnviron(o.Env)
	}
	return machine.Environ(o.Env)
}
