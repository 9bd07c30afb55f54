package observe

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bounds of what is kept across servers.
const (
	mostAcross  = 100_000 // values, of all locks
	mostServers = 64      // of which it is kept who had a value
	mostTold    = 20      // locks that are told
)

// Across says on how many servers each value was. Each server has its own clock, so it says nothing of what was at the same time.
type Across struct {
	mu      sync.Mutex
	servers []string
	locks   map[string]map[string]uint64
	order   []string
	values  int
	// left counts grants of values that are not kept.
	left int
}

func newAcross() *Across { return &Across{locks: make(map[string]map[string]uint64)} }

// join adds a server.
func (a *Across) join(address string) int {
	a.servers = append(a.servers, address)
	return len(a.servers) - 1
}

// note takes note of a grant.
func (a *Across) note(server int, k *keystory.Lock, h *keystory.Hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := k.Name()
	of := a.locks[name]
	if server >= mostServers || a.values == mostAcross && of[h.Owner] == 0 {
		a.left++
		return
	}
	if of == nil {
		of = make(map[string]uint64)
		a.locks[name], a.order = of, append(a.order, name)
	}
	if of[h.Owner] == 0 {
		a.values++
	}
	of[h.Owner] |= 1 << server
}

// Lock says on how many servers the values of one lock were.
type AcrossLock struct {
	Name string
	// Majority and Minority count values that were set on more than half of the servers, and on fewer.
	Majority, Minority int
	// On counts the values on each server.
	On []int
}

// Locks are what there was of each lock, in the order in which they were seen.
func (a *Across) Locks() (list []AcrossLock) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range a.order {
		l := AcrossLock{Name: name, On: make([]int, len(a.servers))}
		for _, on := range a.locks[name] {
			n := 0
			for i := range a.servers {
				if on&(1<<i) != 0 {
					l.On[i]++
					n++
				}
			}
			if n > len(a.servers)/2 {
				l.Majority++
			} else {
				l.Minority++
			}
		}
		list = append(list, l)
	}
	return list
}

// WriteText says it for a person.
func (a *Across) WriteText(w io.Writer) error {
	list := a.Locks()
	fmt.Fprintf(w, "across %d servers, each with a clock of its own, so nothing is said of what was at the same time:\n", len(a.servers))
	if len(list) == 0 {
		fmt.Fprintln(w, "  nobody is known to have held a lock")
	}
	slices.SortStableFunc(list, func(a, b AcrossLock) int { return (b.Majority + b.Minority) - (a.Majority + a.Minority) })
	for _, l := range list[:min(len(list), mostTold)] {
		var on []string
		for i, n := range l.On {
			on = append(on, fmt.Sprintf("%s %s", plain.Text(a.servers[i]), words.Grouped(n)))
		}
		fmt.Fprintf(w, "  %s: %s had it on %d servers or more, %s on fewer (%s)\n", l.Name, words.Count(l.Majority, "value"),
			len(a.servers)/2+1, words.Grouped(l.Minority), strings.Join(on, ", "))
	}
	if more := len(list) - mostTold; more > 0 {
		fmt.Fprintf(w, "  and %s more\n", words.Count(more, "lock"))
	}
	if a.left > 0 {
		fmt.Fprintf(w, "  left out: %s of values beyond the first %s\n", words.Count(a.left, "grant"), words.Grouped(mostAcross))
	}
	return nil
}
