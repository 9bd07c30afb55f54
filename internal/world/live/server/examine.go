package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
)

// Check is one thing that the live world uses of the machine.
type Check struct {
	Name string
	// Found describes what is there.
	Found string
	// Err says what is missing, Hint how to get it, For what needs it.
	Err       error
	Hint, For string
	// Required says that nothing runs without it.
	Required bool
}

// Examine looks at the machine: at what nodes as processes need, and nodes in
// Docker. One of the two has to be there.
func Examine(ctx context.Context) []Check {
	system := Check{Name: "operating system", Found: runtime.GOOS + "/" + runtime.GOARCH}
	redis, engine := examineRedis(ctx), examineDocker(ctx)
	nowhere := redis.Err != nil && engine[0].Err != nil
	redis.Required, engine[0].Required = nowhere, nowhere
	stores := []Check{examineEtcd(), examineZookeeper(), examineNats(), examinePostgres()}
	return slices.Concat([]Check{system, redis, examineFaketime()}, stores, []Check{examineLeft()}, engine)
}

func examineLeft() Check {
	left, err := machine.Clean(false)
	return leftCheck("leftovers of killed runs", left, err)
}

// leftCheck tells of what killed runs have left.
func leftCheck(name string, left interface {
	Any() bool
	String() string
}, err error) Check {
	c := Check{Name: name, Found: "none", Err: err, Hint: "sim doctor --clean removes them; so does the next live run"}
	if err == nil && left.Any() {
		c.Found, c.Err = "", errors.New(left.String())
	}
	return c
}

func examineRedis(ctx context.Context) Check {
	c := Check{Name: "redis-server", For: "nodes as processes", Hint: "apt-get install redis-server"}
	path, err := FindRedis("")
	if err != nil {
		c.Err = ErrNoRedis
		return c
	}
	version, err := VersionOf(ctx, path)
	if err != nil {
		c.Err = err
		return c
	}
	c.Found = path + ", version " + version
	return c
}

// VersionOf is the version of a server program, as it stands in results: "7.0.15", or "Valkey 8.1.0".
func VersionOf(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := machine.Output(ctx, path, "--version")
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", path, err)
	}
	for field := range strings.FieldsSeq(out) {
		if v, ok := strings.CutPrefix(field, "v="); ok && strings.HasPrefix(out, "Valkey") {
			return "Valkey " + v, nil
		} else if ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s is neither redis-server nor valkey-server: it does not tell its version", path)
}

func examineFaketime() Check {
	c := Check{Name: "libfaketime", For: "clock faults on nodes that are processes, and on lock programs", Hint: "apt-get install libfaketime"}
	path, err := machine.FindFaketime()
	c.Found, c.Err = path, err
	return c
}

func examineEtcd() Check {
	c := Check{Name: "etcd", For: "tokens and locks by consensus (without it: a redis-server that no fault strikes)",
		Hint: "apt-get install etcd-server"}
	c.Found, c.Err = FindEtcd()
	if c.Err != nil {
		c.Err = errors.New("etcd is not installed")
	}
	return c
}

func examineZookeeper() Check {
	return examineStore("ZooKeeper", "make libraries (and Java), or REDLOCK_SIM_ZOOKEEPER names a folder with its jars", FindZookeeper)
}

func examineNats() Check { return examineStore("NATS", HintNats, FindNats) }

// examineStore is about a server that runs in virtual time alone.
func examineStore(name, hint string, find func() (string, error)) Check {
	c := Check{Name: name, For: "lock programs that keep their lock in it, in virtual time", Hint: hint}
	c.Found, c.Err = find()
	return c
}

func examinePostgres() Check {
	c := Check{Name: "PostgreSQL", For: "resources in PostgreSQL", Hint: "apt-get install postgresql"}
	c.Found, c.Err = postgres.FindPostgres()
	return c
}

// noFaketimeIn says that an image cannot move a node's clock.
func noFaketimeIn(image string) error {
	return fmt.Errorf("%w in the image %q", machine.ErrNoFaketime, image)
}
