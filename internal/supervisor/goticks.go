//go:build linux && amd64

package supervisor

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Go's runtime reads the processor's counter of ticks: up to Go 1.21 each thread's random numbers begin with it. So a program
// in Go would choose among goroutines differently in each run.

// goTicks is the code of Go's function runtime.cputicks, from its first reading of the counter on; goTicksConstant is the same
// without the readings (xor eax, eax; cdq in the place of rdtscp, xor eax, eax in that of rdtsc).
var (
	goTicks         = []byte("\x0f\x01\xf9\x48\xc1\xe2\x20\x48\x01\xd0\x48\x89\x44\x24\x08\xc3\x0f\xae\xf0\x0f\xae\xe8\x0f\x31")
	goTicksConstant = []byte("\x31\xc0\x99\x48\xc1\xe2\x20\x48\x01\xd0\x48\x89\x44\x24\x08\xc3\x0f\xae\xf0\x0f\xae\xe8\x31\xc0")
)

// auxEntry is the entry of the auxiliary vector with the address at which the program begins.
const auxEntry = 9

// stopTicks lets a program in Go see a counter of ticks that stands.
func (p *process) stopTicks(aux []byte) error {
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	text := f.Section(".text")
	if f.Section(".go.buildinfo") == nil || text == nil {
		return nil
	}
	code, err := text.Data()
	if err != nil {
		return err
	}
	i := bytes.Index(code, goTicks)
	entry, known := auxValue(aux, auxEntry)
	if i < 0 || !known {
		return nil
	}
	if !p.write(text.Addr+uint64(i)+entry-f.Entry, goTicksConstant) {
		return fmt.Errorf("failed to write the code of a program in Go")
	}
	return nil
}

// auxValue finds an entry of an auxiliary vector.
func auxValue(aux []byte, entry uint64) (value uint64, known bool) {
	for ; len(aux) >= 16; aux = aux[16:] {
		if binary.LittleEndian.Uint64(aux) == entry {
			return binary.LittleEndian.Uint64(aux[8:]), true
		}
	}
	return 0, false
}
