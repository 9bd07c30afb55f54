package launch

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Inspect says why a program cannot run in virtual time, where its file shows that: a setuid program, a program for another kind of
// processor, a script whose interpreter is one. Static says that it has no dynamic loader.
func Inspect(path string) (static bool, err error) {
	const scripts = 5 // the kernel follows as many interpreters of interpreters
	for range scripts {
		next, static, err := inspect(path)
		if next == "" || err != nil {
			return static, err
		}
		path = next
	}
	return false, fmt.Errorf("%s: its interpreter is a script of a script of a script", path)
}

// inspect looks at one file. A script needs another one, its interpreter.
func inspect(path string) (interpreter string, static bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return "", false, fmt.Errorf("%s is not an executable file", path)
	case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return "", false, words.WithHint(fmt.Errorf("%s is a setuid program: in virtual time it would not get the rights that it expects", path),
			"run a copy of it without the setuid bit, or use --world live")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", false, err
	}
	if line, ok := bytes.CutPrefix(head[:n], []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if fields := strings.Fields(string(line)); len(fields) > 0 {
			return fields[0], false, nil
		}
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return "", false, fmt.Errorf("%s is neither a program nor a script with #! as its beginning", path)
	}
	if program.Class != elf.ELFCLASS64 || program.Machine != elf.EM_X86_64 {
		return "", false, words.WithHint(fmt.Errorf("%s is a program for %s: in virtual time there are those for 64-bit amd64 alone", path,
			kind(program)), "use --world live")
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return "", false, loader(path, part)
		}
	}
	return "", true, nil
}

// kind names the processors that a program is for.
func kind(program *elf.File) string {
	if program.Machine == elf.EM_386 || program.Machine == elf.EM_X86_64 {
		return "32-bit x86"
	}
	return strings.ToLower(strings.TrimPrefix(program.Machine.String(), "EM_"))
}

// loader sees that the loader is there that a program names: without it the kernel says that the program is not there.
func loader(path string, part *elf.Prog) error {
	name, err := io.ReadAll(io.LimitReader(part.Open(), 4096))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := os.Stat(strings.TrimRight(string(name), "\x00")); err != nil {
		return fmt.Errorf("%s needs a loader that is not there: %w", path, err)
	}
	return nil
}
