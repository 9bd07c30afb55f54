package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// FindZookeeper is the folder with the jars of ZooKeeper: $REDLOCK_SIM_ZOOKEEPER, or the one that `make libraries` brings, in the
// repository in whose bin this program is.
func FindZookeeper() (jars string, err error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", err
	}
	jars = os.Getenv("REDLOCK_SIM_ZOOKEEPER")
	if jars == "" {
		if jars, err = brought("zookeeper", "lib"); err != nil {
			return "", err
		}
	}
	if found, _ := filepath.Glob(filepath.Join(jars, "zookeeper-[0-9]*.jar")); len(found) == 0 {
		return "", errors.New("there is no zookeeper-*.jar in " + jars)
	}
	return filepath.Abs(jars)
}

// HintNats says how to get a nats-server.
const HintNats = "make libraries, or REDLOCK_SIM_NATS names a nats-server"

// FindNats is the path of nats-server: $REDLOCK_SIM_NATS, the one in PATH, or the one that `make libraries` brings.
func FindNats() (path string, err error) {
	if name := os.Getenv("REDLOCK_SIM_NATS"); name != "" {
		return exec.LookPath(name)
	}
	if path, err = exec.LookPath("nats-server"); err == nil {
		return path, nil
	}
	if path, err = brought("nats", "nats-server"); err != nil {
		return "", err
	}
	return exec.LookPath(path)
}

// brought is where something is that `make libraries` brings, in the repository in whose bin this program is.
func brought(parts ...string) (string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	return filepath.Join(append([]string{filepath.Dir(program), "..", ".cache", "libraries"}, parts...)...), err
}
