//go:build linux && amd64

package guests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
)

// The benchmarks make runs of two clients with three sections, with fresh processes and with what a Keeper keeps, and judge nothing.
// runs/cpu-s counts the processor time of this process and of all that it starts.

// oneServer and fiveServers are their scenarios.
const (
	oneServer   = "name: bench; lock: {algorithm: set-nx-px, ttl: 2s}; nodes: {count: 1}; workload: {clients: 2, sections: 3}; time_limit: 30s"
	fiveServers = "name: bench; lock: {algorithm: redlock, ttl: 2s}; nodes: {count: 5}; workload: {clients: 2, sections: 3}; time_limit: 30s"
)

func BenchmarkSetNXPX(b *testing.B) { benchmark(b, oneServer, nil) }
func BenchmarkRedlock(b *testing.B) { benchmark(b, fiveServers, nil) }

// BenchmarkGoProgram is the lock program of the tests.
func BenchmarkGoProgram(b *testing.B) { benchmark(b, oneServer, itself(well)(b)) }

func BenchmarkRedisPy(b *testing.B) { benchmark(b, oneServer, redisPy(b)) }

func BenchmarkRedsync(b *testing.B) { benchmark(b, oneServer, redsync(b)) }

// BenchmarkInterpreted are the programs in JavaScript, Ruby and PHP.
func BenchmarkInterpreted(b *testing.B) {
	for _, file := range []string{"node-redis/node_redis.mjs", "ruby-redis/ruby_redis.rb", "symfony-lock/symfony_lock.php"} {
		b.Run(filepath.Dir(file), func(b *testing.B) {
			benchmark(b, oneServer, commandOf(b, library{Command: "adapters/" + file}))
		})
	}
}

func benchmark(b *testing.B, text string, command []string) {
	b.Helper()
	a := &try{scenario: "bench", options: Options{Server: redis(b)}}
	file := filepath.Join(b.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "; ", "\n")), 0o600); err != nil {
		b.Fatal(err)
	}
	s, err := scenario.Load(file)
	if err != nil {
		b.Fatal(err)
	}
	a.variant = s.Variants[0]
	if command != nil {
		own := standIn(b, command)
		a.variant, a.program, a.options.Programs = a.variant.With(own), &own.Ready, true
	}
	b.Run("fresh", a.benchmark)
	b.Run("kept", func(b *testing.B) {
		kept := *a
		kept.keeper = NewKeeper(b.Context(), a.options)
		kept.benchmark(b)
		if err := kept.keeper.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

func (a *try) benchmark(b *testing.B) {
	one := func() {
		if out, _, err := a.run(); err != nil || out.TimedOut {
			b.Fatalf("seed %d: timed out %v, %v", a.seed, out.TimedOut, err)
		}
		a.seed++
	}
	one() // what is kept is there
	began, before := processorTime(b), livingTime(b)
	for b.Loop() {
		one()
	}
	b.ReportMetric(float64(b.N)/(processorTime(b)-began+livingTime(b)-before).Seconds(), "runs/cpu-s")
}

// livingTime is the processor time of the children of this process that have not ended.
func livingTime(t testing.TB) (all time.Duration) {
	t.Helper()
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range threads {
		text, _ := os.ReadFile(file)
		for pid := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(pid)
			var ts unix.Timespec
			if unix.ClockGettime(int32(^n<<3|2), &ts) == nil { // a process's own clock
				all += time.Duration(ts.Nano())
			}
		}
	}
	return all
}

// nobody is a network that carries nothing.
type nobody struct{}

func (nobody) Dial(c *supervisor.Conn)            { c.Refuse() }
func (nobody) Sent(*supervisor.Conn, int, []byte) {}
func (nobody) Closed(*supervisor.Conn, int, bool) {}

// BenchmarkStartServer is the start of a redis-server, until it listens, and its end.
func BenchmarkStartServer(b *testing.B) {
	server, began := redis(b), processorTime(b)
	for b.Loop() {
		s, err := supervisor.New(supervisor.Config{Wall: wall, Network: nobody{}})
		if err != nil {
			b.Fatal(err)
		}
		h := s.NewHost("A", [4]byte{127, 0, 1, 1})
		args := []string{"--port", "6379", "--bind", "127.0.1.1", "--save", ""}
		if _, err := h.Start(supervisor.Command{Path: server, Args: args, Dir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
		if s.Run(time.Second); !h.Listens(redisPort) {
			b.Fatalf("it does not listen: %s", s.Doubt())
		}
		s.Close()
	}
	b.ReportMetric(float64((processorTime(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
}
