//go:build linux && amd64

package guests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
)

// zookeeperPort is where ZooKeeper listens for clients.
const zookeeperPort = 2181

var zookeeper = storeKind{port: zookeeperPort, command: zookeeperCommand, prepare: writeZookeeperSettings, version: zookeeperVersion}

// zookeeperCommand starts ZooKeeper from the jars of a folder. The first flags make the start of a JVM faster, and the JVM the same on
// all machines.
func zookeeperCommand(jars string, _ *supervisor.Host, dir string) (path string, args []string) {
	path, err := exec.LookPath("java")
	if err != nil {
		path = "java" // whose start tells that it is missing
	}
	return path, []string{"-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-XX:-UseContainerSupport",
		"-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.nio.numSelectorThreads=1", "-Dzookeeper.nio.numWorkerThreads=0",
		// Its log is as long as what was written: a power cut leaves what was synced. Then its first snapshot, of nothing, may be gone.
		"-Dzookeeper.preAllocSize=0", "-Dzookeeper.snapshot.trust.empty=true",
		"-cp", filepath.Join(jars, "..", "conf") + ":" + filepath.Join(jars, "*"),
		"org.apache.zookeeper.server.ZooKeeperServerMain", zookeeperSettings(dir)}
}

func zookeeperSettings(dir string) string { return filepath.Join(dir, "zoo.cfg") }

// writeZookeeperSettings writes what a ZooKeeper reads when it starts. Its ticks are short, for it ends sessions at ticks; a session may
// last as long as its client asks for.
func writeZookeeperSettings(host *supervisor.Host, dir string) error {
	text := fmt.Sprintf("clientPort=%d\nclientPortAddress=%s\ndataDir=%s\ntickTime=100\nmaxSessionTimeout=%d\nmaxClientCnxns=0\n"+
		"admin.enableServer=false\n", zookeeperPort, host, filepath.Join(dir, "data"), 1<<30)
	return os.WriteFile(zookeeperSettings(dir), []byte(text), 0o600)
}

var toldVersion = regexp.MustCompile(`^Zookeeper version: ([\w.]+)`)

// zookeeperVersion implements storeKind.
func zookeeperVersion(ask func([]byte) ([]byte, error)) string {
	answer, err := ask([]byte("srvr"))
	if m := toldVersion.FindSubmatch(answer); err == nil && m != nil {
		return "ZooKeeper " + string(m[1])
	}
	return ""
}
