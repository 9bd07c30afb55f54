package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StopTree stops a process and all its descendants, until no new ones appear. It returns
// when the kernel reports every thread of each stopped.
func StopTree(c *Child) error {
	if err := c.Stop(); err != nil {
		return err
	}
	deadline := time.Now().Add(stopWithin)
	for stopped := map[int]bool{}; ; {
		fresh := false
		for _, pid := range descendants(c.PID()) {
			if !stopped[pid] {
				fresh, stopped[pid] = true, true
				if err := stopPID(pid, deadline); err != nil {
					return fmt.Errorf("failed to stop process %d, which %s has started: %w", pid, c.Name, err)
				}
			}
		}
		if !fresh {
			return nil
		}
	}
}

// stopPID stops a process that is no child of ours.
func stopPID(pid int, deadline time.Time) error {
	if err := signal(pid, sigStop); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for !standsStill(pid) {
		if time.Now().After(deadline) {
			return TookTooLong(stopWithin, "it did not stop within %v", stopWithin)
		}
		time.Sleep(50 * time.Microsecond)
	}
	return nil
}

// standsStill reports that every thread of a process is stopped, or that there is none.
func standsStill(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		switch state, _ := statOf(thread); state {
		case 'T', 't', 'Z', 'X', 0:
		default:
			return false
		}
	}
	return true
}

// ResumeTree lets a process and its descendants go on.
func ResumeTree(c *Child) error {
	for _, pid := range descendants(c.PID()) {
		_ = signal(pid, sigContinue)
	}
	return c.Resume()
}

// KillTree ends a process and all its descendants, and waits until they have.
func KillTree(c *Child) {
	if c.Dead() { // its number may be another's by now
		return
	}
	_ = StopTree(c) // so that none of them starts another meanwhile
	all := family(c.PID())
	_ = c.Kill()
	killAll(all)
}

// KillOrphans ends all descendants of this process; see Adopt.
func KillOrphans() {
	for deadline := time.Now().Add(stopWithin); time.Now().Before(deadline); {
		left := Descendants()
		if len(left) == 0 {
			return
		}
		killAll(left)
	}
}

// Descendants are the processes below this one that live, without its cleaner.
func Descendants() []int {
	return slices.DeleteFunc(descendants(os.Getpid()), func(pid int) bool { return int64(pid) == cleaner.Load() })
}

// Below are the living processes below a child.
func Below(c *Child) []int { return descendants(c.PID()) }

// killAll kills processes, and waits for those that this one has adopted: else they would stay in the kernel's table,
// and whoever looks for descendants would go through all of them.
func killAll(pids []int) {
	for _, pid := range pids {
		_ = signal(pid, syscall.SIGKILL)
	}
	for deadline := time.Now().Add(stopWithin); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(pids, lives) {
			break
		}
	}
	for _, pid := range pids {
		if _, others := awaited.Load(pid); !others {
			reap(pid)
		}
	}
}

// descendants are the living processes below one.
func descendants(pid int) []int {
	return slices.DeleteFunc(family(pid), func(pid int) bool { return !lives(pid) })
}

// family are the processes below one, with those that have ended and wait for their parent.
func family(pid int) []int {
	list, ok := below(pid)
	if !ok {
		return descendantsOfAll(pid)
	}
	// A child that ends while the kernel tells of it may hide another one.
	more, _ := below(pid)
	for _, pid := range more {
		if !slices.Contains(list, pid) {
			list = append(list, pid)
		}
	}
	return list
}

// below asks the kernel for the children of a process, and for theirs; false: this kernel does not tell.
func below(pid int) (list []int, ok bool) {
	if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err != nil {
		return nil, false
	}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", next[0]))
		for _, thread := range threads {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", next[0], thread.Name()))
			for word := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(word); err == nil && !slices.Contains(list, child) {
					list, next = append(list, child), append(next, child)
				}
			}
		}
	}
	return list, true
}

// descendantsOfAll finds them among all processes of the machine.
func descendantsOfAll(pid int) []int {
	children := make(map[int][]int)
	for _, child := range processes() {
		if state, parent := statOf(statFile(child)); state != 0 {
			children[parent] = append(children[parent], child)
		}
	}
	var list []int
	for next := children[pid]; len(next) > 0; next = next[1:] {
		list, next = append(list, next[0]), append(next, children[next[0]]...)
	}
	return list
}

// processes are all processes of this machine, as far as they can be seen.
func processes() (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lives reports that there is a process of this number, and that it has not ended.
func lives(pid int) bool {
	state, _ := statOf(statFile(pid))
	return state != 0 && !ended(state)
}

// ended reports that a process in this state has ended, and waits for its parent at most.
func ended(state byte) bool { return state == 'Z' || state == 'X' }

func statFile(pid int) string { return fmt.Sprintf("/proc/%d/stat", pid) }

// statOf reads the state and the parent of a process; 0: it is gone.
func statOf(file string) (state byte, parent int) {
	fields, err := statFields(file)
	if err != nil {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0][0], parent
}

// ProcessorTime is how much of the processors' time a process and its descendants have taken.
func ProcessorTime(pid int) (sum time.Duration) {
	for _, pid := range append(family(pid), pid) {
		fields, err := statFields(statFile(pid))
		if err != nil {
			continue // it is gone
		}
		for _, field := range fields[14-3 : 16-3] { // in the kernel and beside it
			ticks, _ := strconv.ParseInt(field, 10, 64)
			sum += time.Duration(ticks) * (time.Second / 100)
		}
	}
	return sum
}

// startField is when a process started, among the fields of statFields.
const startField = 22 - 3

// statFields are what the kernel tells of a process or a thread, from the third field on, its
// state.
func statFields(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	// The second field is a name in brackets that may hold anything, brackets and spaces too.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= startField || len(fields[0]) != 1 {
		return nil, fmt.Errorf("%s: strange stat", file)
	}
	return fields, nil
}
