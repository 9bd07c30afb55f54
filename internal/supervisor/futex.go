//go:build linux && amd64

package supervisor

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// Operations of futexes (linux/futex.h).
const (
	futexOpWait       = 0
	futexOpWake       = 1
	futexOpRequeue    = 3
	futexOpCmpRequeue = 4
	futexOpWakeOp     = 5
	futexOpWaitBitset = 9
	futexOpWakeBitset = 10

	futexCommand = 0x7f
	futexPrivate = 128
	futexWall    = 256 // FUTEX_CLOCK_REALTIME

	anyBit = ^uint32(0)
)

// futexKey tells a futex from all others: the address in a memory, or the place in a file that several processes have mapped.
type futexKey struct{ memory, address uint64 }

// futexKey is that of an address. A futex that is not private to a process may be in memory that it shares.
func (p *process) futexKey(address, operation uint64) futexKey {
	if operation&futexPrivate == 0 {
		if shared, ok := p.sharedKey(address); ok {
			return shared
		}
	}
	return futexKey{p.memory, address}
}

// sharedKey finds the place in a file of an address in memory that is shared.
func (p *process) sharedKey(address uint64) (k futexKey, ok bool) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/maps")
	for line := range bytes.Lines(text) {
		var from, to, offset, major, minor, inode uint64
		var access string
		if n, _ := fmt.Sscanf(string(line), "%x-%x", &from, &to); n != 2 || address < from || address >= to {
			continue
		}
		n, _ := fmt.Sscanf(string(line), "%x-%x %s %x %x:%x %d", &from, &to, &access, &offset, &major, &minor, &inode)
		if n != 7 || !strings.HasSuffix(access, "s") {
			return k, false
		}
		// The memories of processes have small numbers.
		return futexKey{mixed(major, minor, inode) | 1<<63, offset + address - from}, true
	}
	return k, false
}

// mayBeAwaited reports whether a thread may wait for the futex at an address of some process. To find out whether memory is shared is
// dear, and mostly nobody waits.
func (s *Supervisor) mayBeAwaited(address uint64) bool {
	for k := range s.futexes {
		if k.address == address || k.memory>>63 != 0 {
			return true
		}
	}
	return false
}

// futexCall is modelled wholly: no thread waits for a futex in the kernel.
func (t *thread) futexCall() {
	p, a := t.p, &t.call.Args
	s := p.program.host.s
	key := func(i int) futexKey { return p.futexKey(a[i], a[1]) }
	switch a[1] & futexCommand {
	case futexOpWait, futexOpWaitBitset:
		t.futexWait()
	case futexOpWake, futexOpWakeBitset:
		if !s.mayBeAwaited(a[0]) {
			t.answer(0)
			return
		}
		bits := anyBit
		if a[1]&futexCommand == futexOpWakeBitset {
			bits = uint32(a[5])
		}
		t.answer(int64(s.wakeFutex(key(0), int(int32(a[2])), bits)))
	case futexOpRequeue, futexOpCmpRequeue:
		if v, _ := p.readWord(a[0]); a[1]&futexCommand == futexOpCmpRequeue && v != uint32(a[5]) {
			t.fail(unix.EAGAIN)
			return
		}
		from, to := key(0), key(4)
		n := s.wakeFutex(from, int(int32(a[2])), anyBit)
		for moved := 0; moved < int(int32(a[3])) && len(s.futexes[from]) > 0; moved++ {
			o := s.futexes[from][0]
			s.futexes[from] = s.futexes[from][1:]
			s.futexes[to] = append(s.futexes[to], o)
			o.wait.futex = to
			n++
		}
		t.answer(int64(n))
	case futexOpWakeOp:
		t.futexWakeOp(key(0), key(4))
	default:
		p.program.doubt("uses the futex operation %d, which is not modelled", a[1]&futexCommand)
		t.fail(unix.ENOSYS)
	}
}

func (t *thread) futexWait() {
	p, a := t.p, &t.call.Args
	v, ok := p.readWord(a[0])
	if !ok {
		t.fail(unix.EFAULT)
		return
	}
	if v != uint32(a[2]) {
		t.fail(unix.EAGAIN)
		return
	}
	bitset := a[1]&futexCommand == futexOpWaitBitset
	key, s := p.futexKey(a[0], a[1]), p.program.host.s
	w := &wait{deadline: never, futex: key, bitset: anyBit, expected: v, timeout: func() (int64, unix.Errno) { return 0, unix.ETIMEDOUT }}
	if bitset {
		w.bitset = uint32(a[5])
	}
	if a[3] != 0 {
		d := p.readTime(a[3], timespec)
		w.deadline = t.now() + d
		if bitset { // an instant
			w.clock, w.clockTime = unix.CLOCK_MONOTONIC, d
			if a[1]&futexWall != 0 {
				w.clock = unix.CLOCK_REALTIME
			}
			w.deadline = t.until(w.clock, d)
		}
		if w.deadline <= t.now() {
			t.fail(unix.ETIMEDOUT)
			return
		}
	}
	s.futexes[key] = append(s.futexes[key], t)
	t.park(w)
}

// futexWakeOp changes a second word, and wakes there, too, if its old value meets a condition.
func (t *thread) futexWakeOp(first, second futexKey) {
	p, a := t.p, &t.call.Args
	s := p.program.host.s
	old, ok := p.readWord(a[4])
	if !ok {
		t.fail(unix.EFAULT)
		return
	}
	x := uint32(a[5])
	operand, compared := signed12(x>>12), signed12(x)
	if x>>31&1 != 0 {
		operand = 1 << (uint32(operand) & 31)
	}
	op, o := x>>28&7, uint32(operand)
	values := [8]uint32{o, old + o, old | o, old &^ o, old ^ o}
	conditions := [16]bool{int32(old) == compared, int32(old) != compared, int32(old) < compared, int32(old) <= compared,
		int32(old) > compared, int32(old) >= compared}
	p.writeWord(a[4], values[op])
	n := s.wakeFutex(first, int(int32(a[2])), anyBit)
	if conditions[x>>24&15] {
		n += s.wakeFutex(second, int(int32(a[3])), anyBit)
	}
	t.answer(int64(n))
}

// signed12 is a number of 12 bits.
func signed12(x uint32) int32 { return int32(x<<20) >> 20 }

// wakeFutex lets threads go on that wait for a futex, the first come first.
func (s *Supervisor) wakeFutex(k futexKey, most int, bits uint32) (n int) {
	for _, t := range slices.Clone(s.futexes[k]) {
		if n >= most {
			break
		}
		if t.wait.bitset&bits != 0 {
			t.wake(launch.Response{})
			n++
		}
	}
	return n
}

// ownerDied is the bit that the kernel sets in a robust futex whose owner ends.
const ownerDied = 1 << 30

// wakeOrphans wakes who waits for robust futexes whose owner has ended: a thread of a memory, or a process.
func (s *Supervisor) wakeOrphans(memory uint64) {
	var orphans []futexKey
	for k, list := range s.futexes {
		if k.memory != memory && k.memory>>63 == 0 {
			continue
		}
		t := list[0]
		if v, ok := t.p.readWord(t.call.Args[0]); ok && v&ownerDied != 0 && t.wait.expected&ownerDied == 0 {
			orphans = append(orphans, k)
		}
	}
	slices.SortFunc(orphans, func(a, b futexKey) int {
		return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(a.address, b.address))
	})
	for _, k := range orphans {
		s.wakeFutex(k, 1, anyBit)
	}
}
