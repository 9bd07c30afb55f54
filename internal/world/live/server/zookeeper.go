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
		program, err := os.Executable()
		if err == nil {
			program, err = filepath.EvalSymlinks(program)
		}
		if err != nil {
			return "", err
		}
		jars = filepath.Join(filepath.Dir(program), "..", ".cache", "libraries", "zookeeper", "lib")
	}
	if found, _ := filepath.Glob(filepath.Join(jars, "zookeeper-[0-9]*.jar")); len(found) == 0 {
		return "", errors.New("there is no zookeeper-*.jar in " + jars)
	}
	return filepath.Abs(jars)
}
