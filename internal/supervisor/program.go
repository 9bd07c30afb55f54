//go:build linux && amd64

package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// Command is a program to start.
type Command struct {
	// Path is the file, Args the arguments, without the program's name.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Lacks are files that it does not find.
	Lacks []string
	// Output gets each line of its standard output, Errors what it writes to standard error; Ended is called when its last
	// process has ended. All of them are called while all threads of the program wait. nil: nobody cares.
	Output func(line []byte)
	Errors func(text []byte)
	Ended  func(how string)
}

// Program is a program with all its processes.
type Program struct {
	Command
	host     *Host
	launched *launch.Process
	// watches is an epoll of what it writes: outputs and connections.
	watches           int
	input, outs, errs int
	text              []byte
	processes         []*process
	threads           map[int]*thread
	ready             []*thread // may go on, in this order
	running           int
	// begun is the call by which a thread or process begins that has not been heard of; stash are calls that came meanwhile.
	begun *birth
	stash []launch.Notification
	// dirty: it has run, or got something, since its descriptors were looked at; full: something could not be given to it yet.
	dirty, full bool
	ended       bool
	released    bool
	// mayEnd: a signal was sent, which may end a process. polled is what hear waits for; nil: it is to be found.
	mayEnd bool
	polled []unix.PollFd
	// timerFDs are its timerfds, in the order in which they were made; signalFDs: it has made a signalfd.
	timerFDs []*timer
	// emptied are pipes to be marked.
	emptied     []*pipe
	signalFDs   bool
	conns       map[int]*connEnd
	lastConn    int
	seed, drawn uint64
	// computed is for how long it has read clocks, or made calls, without ever waiting; left are processes that lived when the first ended.
	computed int64
	left     []string
	// born counts its processes.
	born int
	// opened counts its calls that open a file.
	opened uint64
	// relieved: a thread that waited natively to write was relieved, and no call has come since.
	relieved bool
	// streak counts calls since a thread last waited, written the bytes of output since the last call.
	streak, written int
}

// birth is a call that begins a thread or a process.
type birth struct {
	by *process
	// thread: it begins a thread of the process; vfork: the caller stands until the child has another image; shares: the child
	// has the caller's memory.
	thread, vfork, shares bool
	// exec: it is none, but the call after which the caller of vfork goes on; what others call is answered after the first call of
	// the new image.
	exec bool
	// clear is the word that the kernel clears at its end.
	clear uint64
	// files are the descriptors of the process.
	files *table
}

const (
	watchOutput = 0
	watchErrors = 1
	firstConn   = 2
)

// syncWakeUp is a flag of the listener (SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP).
const syncWakeUp = 1

// namespace is that of the numbers of processes.
var namespace = launch.BestNamespace

// maxMemory bounds what a process may write of its own.
const maxMemory = 4 << 30

// maxLine bounds a line of output, maxWritten what is written to outputs at once, maxProcesses and maxThreads what a program begins.
const (
	maxLine      = 1 << 20
	maxWritten   = 4 << 20
	maxProcesses = 200
	maxThreads   = 2000
)

// Start starts a program. It has run until all of it waits.
func (h *Host) Start(c Command) (*Program, error) {
	s := h.s
	g := &Program{Command: c, host: h, watches: -1, input: -1, outs: -1, errs: -1,
		threads: make(map[int]*thread), conns: make(map[int]*connEnd), lastConn: firstConn,
		seed: h.seed()}
	var in, out, errs [2]int
	for _, p := range []*[2]int{&in, &out, &errs} {
		*p = [2]int{-1, -1}
	}
	fail := func(err error) (*Program, error) {
		for _, p := range []*[2]int{&in, &out, &errs} {
			closeFD(p[0])
			closeFD(p[1])
		}
		closeFD(g.watches)
		return nil, err
	}
	for _, p := range []*[2]int{&in, &out, &errs} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return fail(fmt.Errorf("failed to make a pipe: %w", err))
		}
		growPipe(p[0])
	}
	var err error
	if g.watches, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fail(fmt.Errorf("failed to make an epoll: %w", err))
	}
	g.launched, err = launch.Start(launch.Options{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir,
		Files: [3]uintptr{uintptr(in[0]), uintptr(out[1]), uintptr(errs[1])}, Memory: maxMemory,
		Namespace: namespace(), Notify: notified(c.Path, namespace() == launch.Shared)})
	if err != nil {
		return fail(err)
	}
	files := &table{users: 1, files: make(map[int]*file)}
	for number, fd := range []int{in[0], out[1], errs[1]} {
		f := newFile(fd)
		files.set(number, f)
		f.drop()
	}
	g.input, g.outs, g.errs = in[1], out[0], errs[0]
	for _, fd := range []int{g.input, g.outs, g.errs} {
		_ = unix.SetNonblock(fd, true)
	}
	g.watchFD(g.outs, watchOutput)
	g.watchFD(g.errs, watchErrors)
	// From Linux 6.6 on, whoever waits for the other then runs on the same processor.
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(g.launched.Listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, syncWakeUp)
	p := g.addProcess(g.launched.PID, g.launched.PIDFD, files)
	g.addThread(p, p.pid)
	g.running = 1
	s.programs = append(s.programs, g)
	h.programs = append(h.programs, g)
	g.serve()
	s.settle()
	return g, nil
}

func (g *Program) watchFD(fd, number int) {
	if err := unix.EpollCtl(g.watches, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(number)}); err != nil {
		g.host.s.unknown("%s: failed to watch a descriptor: %v", g.host.Name, err)
	}
}

// random fills b with the program's next random bytes.
func (g *Program) random(b []byte) {
	if len(b) == 0 { // a program asks once whether there is randomness: that changes nothing of what it draws
		return
	}
	g.drawn++
	for i := range b {
		b[i] = byte(mixed(g.seed, g.drawn, uint64(i/8)) >> (8 * (i % 8)))
	}
}

// Write writes to its standard input; what finds no room is lost, and the run tells nothing.
func (g *Program) Write(b []byte) {
	if g.ended || g.input < 0 {
		return
	}
	if n, err := unix.Write(g.input, b); n != len(b) && !errors.Is(err, unix.EPIPE) {
		g.host.s.unknown("%s does not read its standard input", g.host.Name)
	}
	g.dirty = true
}

// CloseInput ends its standard input.
func (g *Program) CloseInput() {
	closeFD(g.input)
	g.input = -1
	g.dirty = true
}

// Unfinished is what it has written to its standard output behind the last line break.
func (g *Program) Unfinished() []byte { return g.text }

// Computed is how much time it has let pass without waiting: it read clocks again and again, or made calls.
func (g *Program) Computed() time.Duration { return time.Duration(g.computed) }

// Left are the commands of the processes that it had begun, and that had not ended when its first process ended by itself.
func (g *Program) Left() []string { return g.left }

// HasEnded reports whether its last process has ended.
func (g *Program) HasEnded() bool { return g.ended }

// Kill ends it as SIGKILL does: its host closes its connections.
func (g *Program) Kill() {
	if g.ended {
		return
	}
	first := g.processes[0]
	first.how = "killed"
	first.kill()
	first.awaitEnd()
}

func (p *process) kill() {
	if !p.zombie {
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
}

// end: the last process is gone.
func (g *Program) end(how string) {
	if g.ended {
		return
	}
	if g.begun != nil && g.begun.files != nil {
		g.begun.files.leave()
	}
	g.ready, g.running, g.ended, g.begun, g.stash = nil, 0, true, nil, nil
	g.collect()
	g.host.forgetListeners(g)
	if g.Ended != nil {
		g.host.s.told = true
		g.Ended(how)
	}
	g.release()
}

// release gives back what the program held.
func (g *Program) release() {
	if g.released {
		return
	}
	g.released = true
	for _, p := range g.processes {
		for _, t := range slices.Clone(p.threads) {
			g.forgetThread(t)
		}
		closeFD(p.pidfd)
		closeFD(p.mem)
	}
	for _, fd := range []int{g.launched.Listener, g.input, g.outs, g.errs, g.watches} {
		closeFD(fd)
	}
	g.input = -1
	for _, e := range g.conns {
		closeFD(e.fd)
		e.fd = -1
	}
	g.host.programs = removed(g.host.programs, g)
	g.host.s.programs = removed(slices.Clone(g.host.s.programs), g)
}

// collect takes what the program has written.
func (g *Program) collect() {
	var events [64]unix.EpollEvent
	for g.watches >= 0 {
		n, err := unix.EpollWait(g.watches, events[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		var ready []int
		for _, e := range events[:max(n, 0)] {
			ready = append(ready, int(e.Fd))
		}
		if g.full { // what was taken before
			for i, e := range g.conns {
				if len(e.pending) > 0 && !slices.Contains(ready, i) {
					ready = append(ready, i)
				}
			}
		}
		slices.Sort(ready)
		for _, i := range ready {
			switch i {
			case watchOutput:
				g.collectOutput()
			case watchErrors:
				g.collectErrors()
			default:
				if e := g.conns[i]; e != nil {
					e.collect()
				}
			}
		}
		if n < len(events) {
			break
		}
	}
	if g.full {
		g.full = false
		for i := firstConn; i <= g.lastConn; i++ {
			if e := g.conns[i]; e != nil && len(e.out) > 0 {
				e.flush()
			}
		}
	}
}

// readAll reads what there is in a pipe.
func (g *Program) readAll(fd int, take func([]byte)) {
	var buf [16 << 10]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if n > 0 {
			if g.written += n; g.written > maxWritten {
				g.doubt("writes more than %d MB to its outputs at once", maxWritten>>20)
				return
			}
			take(buf[:n])
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			_ = unix.EpollCtl(g.watches, unix.EPOLL_CTL_DEL, fd, nil)
		}
		return
	}
}

func (g *Program) collectOutput() {
	g.readAll(g.outs, func(b []byte) { g.text = append(g.text, b...) })
	for {
		line, rest, ok := bytes.Cut(g.text, []byte("\n"))
		if !ok {
			break
		}
		g.text = rest
		if g.Output != nil {
			g.host.s.told = true
			g.Output(line)
		}
	}
	if len(g.text) > maxLine {
		g.host.s.unknown("%s writes a line of more than %d bytes to its standard output", g.host.Name, maxLine)
		g.text = nil
	}
	g.text = slices.Clone(g.text)
}

func (g *Program) collectErrors() {
	g.readAll(g.errs, func(b []byte) {
		if g.Errors != nil {
			g.Errors(b)
		}
	})
}
