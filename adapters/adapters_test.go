// Package adapters_test checks the lock programs with sim. What each of them says is tested in virtual time, in
// internal/world/virtual/guests.
package adapters_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commands start the lock programs of libraries.json, by name.
var commands = make(map[string][]string)

// libraries are where Debian keeps the libraries of the programs that are not built.
var libraries = map[string]string{
	"redis-py/redis_py.py":      "/usr/lib/python3/dist-packages/redis",
	"tooz/tooz_lock.py":         "/usr/lib/python3/dist-packages/tooz",
	"node-redis/node_redis.mjs": "/usr/share/nodejs/redis",
	"ruby-redis/ruby_redis.rb":  "/usr/share/rubygems-integration/all/gems/redis-*",
}

// brought are the folders of the libraries that `make libraries` brings, by the name of the program.
var brought = make(map[string]string)

var bin string

func TestMain(m *testing.M) {
	build, err := readLibraries()
	if err == nil {
		bin, err = os.MkdirTemp("", "adapters")
	}
	if err == nil {
		var out []byte
		if out, err = exec.Command("go", append([]string{"build", "-o", bin + "/"}, build...)...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s", out)
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// readLibraries takes the commands from libraries.json, and returns the packages of those that are built.
func readLibraries() (build []string, err error) {
	text, err := os.ReadFile("libraries.json")
	if err != nil {
		return nil, err
	}
	var list []struct{ Name, Command, Brought string }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, l := range list {
		command := strings.Fields(l.Command)
		if program, isBuilt := strings.CutPrefix(command[0], "bin/adapters/"); isBuilt {
			command[0], build = program, append(build, "./"+program)
		}
		command[0] = strings.TrimPrefix(command[0], "adapters/")
		commands[l.Name], brought[l.Name] = command, l.Brought
	}
	return build, nil
}

// lookFor is the command that starts a program; the test is skipped where its library is missing.
func lookFor(t *testing.T, name string) string {
	t.Helper()
	command := append([]string(nil), commands[name]...)
	program := command[0]
	if library, is := libraries[program]; is {
		if found, _ := filepath.Glob(library); len(found) == 0 {
			t.Skip("this machine lacks: " + library)
		}
	}
	if folder := brought[name]; folder != "" {
		if os.Getenv("REDLOCK_SIM_TESTS") == "" {
			t.Skip("left to make test-all")
		}
		if _, err := os.Stat("../.cache/libraries/" + folder + "/complete"); err != nil {
			t.Skip("this machine lacks: the libraries of make libraries")
		}
	}
	switch filepath.Ext(program) {
	case ".mjs":
		if err := exec.Command("/usr/bin/node", "-e", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)").Run(); err != nil {
			t.Skip("this machine lacks: /usr/bin/node of version 18 or later")
		}
	case ".php":
		if err := exec.Command("/usr/bin/php", "-r", "new Redis(); require 'Symfony/Component/Lock/autoload.php';").Run(); err != nil {
			t.Skip("this machine lacks: php-redis or php-symfony-lock")
		}
	}
	switch {
	case !strings.Contains(program, "/"): // it is built
		command[0] = filepath.Join(bin, program)
	case strings.HasPrefix(program, ".cache/"): // make libraries has built it
		command[0] = "../" + program
	default:
		command[0] = "./" + program
	}
	return strings.Join(command, " ")
}
