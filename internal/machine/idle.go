package machine

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Idle tells how much of the time of this machine's processors nobody uses.
type Idle struct {
	mu          sync.Mutex
	idle, total uint64
}

// NewIdle begins to look.
func NewIdle() *Idle {
	i := &Idle{}
	_, _ = i.Share()
	return i
}

// Share is the part that was idle since it was asked last, from 0 to 1.
func (i *Idle) Share() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	idle, total, err := processorTimes(string(text))
	if err != nil {
		return 0, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	wasIdle, was := i.idle, i.total
	if i.idle, i.total = idle, total; total <= was || idle < wasIdle { // iowait may go back
		return 0, nil
	}
	return float64(idle-wasIdle) / float64(total-was), nil
}

var errStrangeTimes = errors.New("/proc/stat: strange times of processors")

// processorTimes are the first line of /proc/stat: user nice system idle iowait irq softirq steal, and guests,
// which user and nice have in them.
func processorTimes(stat string) (idle, total uint64, err error) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, 0, errStrangeTimes
	}
	for n, text := range f[1:9] {
		ticks, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, 0, errStrangeTimes
		}
		if total += ticks; n == 3 || n == 4 {
			idle += ticks
		}
	}
	return idle, total, nil
}
