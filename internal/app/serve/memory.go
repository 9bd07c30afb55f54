package serve

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
)

// What a page takes of memory while it is made, measured on histories and results that
// were made to take much (BenchmarkBigRun).
const (
	perHistoryByte = 20
	perResultByte  = 200
	// maxResult bounds a result.json, and maxParsed what becomes of it in memory: an empty
	// object is two bytes long, and takes some hundred.
	maxResult   = 16 << 20
	maxParsed   = 64 << 20
	perObject   = 1200
	perValue    = 24
	perScenario = 8 << 20
)

// defaultMemory is a quarter of the memory that is free, at least 128 MiB and at most 1 GiB.
func defaultMemory() int64 {
	free := int64(2 << 30) // unless the system tells
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			if f := strings.Fields(lines.Text()); len(f) == 3 && f[0] == "MemAvailable:" {
				if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					free = kib << 10
				}
			}
		}
	}
	// The limit of a container, if this is one.
	if data, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			free = min(free, n)
		}
	}
	return min(max(free/4, 128<<20), 1<<30)
}

// memory is what all pages together may take. A page takes its share before it is
// made, and waits while others have it.
type memory struct {
	size  int64
	mu    sync.Mutex
	taken int64
	given chan struct{} // closed when somebody gives back
}

func newMemory(size int64) *memory { return &memory{size: size, given: make(chan struct{})} }

// take waits for n bytes, at most until ctx ends. n is at most the size.
func (m *memory) take(ctx context.Context, n int64) error {
	for {
		m.mu.Lock()
		given := m.given
		fits := m.taken+n <= m.size
		if fits {
			m.taken += n
		}
		m.mu.Unlock()
		if fits {
			return nil
		}
		select {
		case <-given:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken -= n
	close(m.given)
	m.given = make(chan struct{})
}
