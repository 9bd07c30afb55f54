//go:build linux && amd64

package supervisor

import (
	"bytes"
	"debug/elf"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// clockCode takes the place of the functions of the vDSO. clock.asm is its source.
//
//go:embed clock.bin
var clockCode []byte

// clockWords is where in it the words are that the supervisor writes: the monotonic clock's seconds and
// nanoseconds, the wall clock's, and the address of the word that counts readings.
const clockWords = 0x140

// clockEntries are where in it the functions of the vDSO begin.
var clockEntries = map[string]uint64{
	"__vdso_clock_gettime": 0, "__vdso_gettimeofday": 0xa0, "__vdso_time": 0xe0,
	"__vdso_getcpu": 0x100, "__vdso_getrandom": 0x120, "__vdso_clock_getres": 0x130,
}

// patch is what to write into a vDSO.
type patch struct {
	at   int64
	text []byte
}

type clockPatches struct {
	patches []patch
	// words is where the clock's words are.
	words int64
}

// findPatches reads this process's vDSO, which is that of all.
var findPatches = sync.OnceValues(func() (v clockPatches, err error) {
	from, to, err := findMapping(os.Getpid(), "[vdso]")
	if err != nil {
		return v, err
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return v, err
	}
	defer func() { _ = mem.Close() }()
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return v, fmt.Errorf("failed to read the vDSO: %w", err)
	}
	return patchesFor(image)
})

// patchesFor puts the code into the widest gap between the entries of a vDSO: all of them lead into it.
func patchesFor(image []byte) (v clockPatches, err error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return v, fmt.Errorf("failed to read the vDSO: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return v, fmt.Errorf("failed to read the vDSO's symbols: %w", err)
	}
	text := f.Section(".text")
	if text == nil {
		return v, errors.New("the vDSO has no text")
	}
	entries := []uint64{text.Addr + text.Size}
	for _, s := range symbols {
		if s.Value >= text.Addr && s.Value < text.Addr+text.Size {
			entries = append(entries, s.Value)
		}
	}
	slices.Sort(entries)
	const jump = 16 // more than the jump at an entry takes
	home, gap := uint64(0), uint64(0)
	for i := 1; i < len(entries); i++ {
		if g := entries[i] - entries[i-1]; g > gap {
			home, gap = entries[i-1]+jump, g
		}
	}
	if gap < uint64(len(clockCode))+jump {
		return v, errors.New("there is no room in the vDSO")
	}
	v.patches = []patch{{int64(home), clockCode}}
	v.words = int64(home + clockWords)
	for _, s := range symbols {
		if at, ok := clockEntries[s.Name]; ok {
			distance := uint32(int32(int64(home+at) - int64(s.Value) - 5))
			v.patches = append(v.patches, patch{int64(s.Value), binary.LittleEndian.AppendUint32([]byte{0xe9}, distance)})
		}
	}
	return v, nil
}

// findMapping finds a mapping of a process by its name.
func findMapping(pid int, name string) (from, to int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, name+"\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return 0, 0, fmt.Errorf("failed to read a line of /proc/%d/maps: %w", pid, err)
			}
			return from, to, nil
		}
	}
	return 0, 0, fmt.Errorf("process %d has no %s", pid, name)
}

// auxRandom is the entry of the auxiliary vector that points to 16 random bytes (linux/auxvec.h).
const auxRandom = 25

// prepareImage is done once in the life of each image, before it reads a clock: its clocks become ours, and so does
// the randomness with which it begins.
func (p *process) prepareImage() error {
	v, err := findPatches()
	if err != nil {
		return err
	}
	p.prepared, p.shownAt, p.readings, p.count = true, -1, 0, 0
	if p.vdso, _, err = findMapping(p.pid, "[vdso]"); err != nil {
		return err
	}
	for _, x := range v.patches {
		if !p.write(uint64(p.vdso+x.at), x.text) {
			return errors.New("failed to write a vDSO")
		}
	}
	// The word that counts readings is the last of the stack, which the kernel leaves empty.
	_, top, err := findMapping(p.pid, "[stack]")
	if err != nil {
		return err
	}
	p.readings = uint64(top) - 8
	if !p.write(uint64(p.vdso+v.words)+32, binary.LittleEndian.AppendUint64(nil, p.readings)) {
		return errors.New("failed to write a vDSO")
	}
	aux, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", p.pid))
	if err != nil {
		return err
	}
	if at, known := auxValue(aux, auxRandom); known {
		var b [16]byte
		p.program.random(b[:])
		if !p.write(at, b[:]) {
			return errors.New("failed to write what an image begins with")
		}
	}
	return p.stopTicks(aux)
}

// hasClocks reports whether the image is one whose clocks are ours.
func (p *process) hasClocks() bool {
	v, err := findPatches()
	if err != nil {
		return false
	}
	code := v.patches[0]
	b := make([]byte, clockWords)
	return p.read(uint64(p.vdso+code.at), b) && bytes.Equal(b, code.text[:clockWords])
}

// showTime lets a process see the time, and counts its readings from 0 if that is another one.
func (p *process) showTime() {
	h := p.program.host
	now := h.s.now
	if !p.prepared || p.shownAt == now && p.shownClocks == h.clocksSet {
		return
	}
	v, _ := findPatches()
	var b [32]byte
	monotonic, wall := h.monotonic.at(now)+p.phase(), h.wall.at(now)+p.phase()
	for i, x := range []int64{monotonic / 1e9, monotonic % 1e9, wall / 1e9, wall % 1e9} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(x))
	}
	if !p.write(uint64(p.vdso+v.words), b[:]) {
		return // it has ended
	}
	if p.shownAt != now && p.count > 0 {
		p.write(p.readings, make([]byte, 8))
		p.count = 0
	}
	p.shownAt, p.shownClocks = now, h.clocksSet
}

// Step is what all times are multiples of. In between, clocks count their readings: what a program that has run before reads more or less
// often than one that has just started moves nothing.
const Step = time.Microsecond

const step = int64(Step)

// phase is by how much the clocks of a process are ahead, within a step: programs that begin at the same instant on several hosts do not
// see the same time, which some make their random numbers of.
func (p *process) phase() int64 {
	const first, most, host, each = 50, 200, 83, 7
	return first + (int64(p.program.host.number)*host+int64(p.number)*each)%most
}

// shown is what a clock of the process shows, at the instant at which it calls.
func (p *process) shown(c Clock) int64 { return c.at(p.program.host.s.now) + p.phase() + p.count }

// spentReading is how long so many readings of a clock in a row take, as clock.asm says.
func spentReading(readings int64) int64 {
	return readings + max(readings-4096, 0)<<12
}

// countReadings counts how often a process has read clocks in this step, and lets the time pass where that is too often for one.
func (p *process) countReadings() {
	var b [8]byte
	if p.readings == 0 || !p.read(p.readings, b[:]) {
		return
	}
	n := int64(binary.LittleEndian.Uint64(b[:]))
	if n < 0 || n > 1<<40 {
		return
	}
	p.program.computed += spentReading(n) - spentReading(p.count)
	p.count = n
	if spent := spentReading(n); p.phase()+spent >= step {
		p.program.host.s.now += ceiling(spent)
	}
	p.showTime()
}

// ceiling is the next step.
func ceiling(ns int64) int64 { return (ns + step - 1) / step * step }

// nearest is the nearest step. Who waits from one instant to another, both of which were read, may name a span that is some nanoseconds
// shorter or longer than whole steps: that shows only how often clocks were read.
func nearest(ns int64) int64 { return (ns + step/2) / step * step }
