package virtual

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Host is the machine of a node, with the process on it that answers there. What any such process is subject to is the
// host's: it is up, stands still, dies, has a clock, and links lead to it. What it answers is the service's.
type Host struct {
	w           *World
	name        string
	persistence world.Persistence
	service     service
	watch       watch
	clock       nodeClock

	up, paused bool
	// starts: the process is being started. It does what it does, and takes no connections.
	starts bool
	// busy: the process carries an order out that may keep it from all else. What clients ask meanwhile waits in its kernel.
	busy bool
	// queue holds what came while it stood still.
	queue []*call
	// deferred are changes of its primary that came meanwhile.
	deferred []func()
	// life counts its processes.
	life int
}

// service is what answers on a host: the model of Redis, or a server.
type service interface {
	keeper
	// serve carries a call out that has come to the process; false: the answer comes later, or never.
	serve(k *call) bool
	// onPause is called before the process stands still, onResume when it goes on, with what came meanwhile.
	onPause()
	onResume(queue []*call)
	// onKill is called when the process is dead and its connections are broken; stood: it stood still before.
	onKill(stood bool)
	// onStart starts it with what keep leaves on its disk, which takes a while, and says that the host is up. started: it is by
	// this call that it is.
	onStart(keep world.Keep) (started bool, err error)
	// onClock lets set change the host's clock.
	onClock(set func())
	// follow makes it a replica of another node's, or a primary: nil.
	follow(primary *Host)
}

// wall is the host's clock at a run time, in microseconds since 1970.
func (h *Host) wall(at time.Duration) int64 {
	return int64((h.w.wallZero + at + h.clock.offsetAt(at)) / time.Microsecond)
}

// bend makes the host's clock go as f says; nil sets it right.
func (h *Host) bend(f *world.ClockFault) {
	h.service.onClock(func() {
		if f == nil {
			h.clock = nodeClock{}
		} else {
			h.clock.set(h.w.s.now, *f)
		}
	})
}

// arrive takes a call in; true: it has its answer.
func (h *Host) arrive(k *call) bool {
	if (h.paused || h.busy) && (k.batch == nil || !k.batch.dial) { // its kernel takes connections
		h.queue = append(h.queue, k)
		return false
	}
	return h.serve(k)
}

func (h *Host) pause() {
	if h.paused {
		return
	}
	if h.up {
		h.service.onPause()
	}
	h.paused = true
}

// resume lets the process go on, with what came meanwhile.
func (h *Host) resume() {
	if !h.paused {
		return
	}
	h.paused = false
	h.serveQueue()
	deferred := h.deferred
	h.deferred = nil
	for _, f := range deferred {
		f()
	}
}

// serveQueue lets the process go on with what has come.
func (h *Host) serveQueue() {
	queue := h.queue
	h.queue = nil
	h.service.onResume(queue)
}

// kill ends the process. All its connections break.
func (h *Host) kill() {
	stood := h.paused
	h.up, h.paused, h.busy = false, false, false
	for _, k := range h.queue {
		k.abandon()
	}
	h.queue, h.deferred = nil, nil
	h.breakClients()
	h.life++
	h.service.onKill(stood)
}

// breakClients breaks the connections of clients.
func (h *Host) breakClients() {
	for _, l := range h.w.links {
		if l.to == h {
			l.breakAll()
		}
	}
}

// restart starts a process with what keep leaves on the disk.
func (h *Host) restart(keep world.Keep) (started bool, err error) { return h.service.onStart(keep) }

func (h *Host) runs() bool { return h.up }

// listens implements endpoint.
func (h *Host) listens() bool { return h.up }

// runOrDefer implements endpoint.
func (h *Host) runOrDefer(f func()) {
	runOrDefer(h.up || h.starts, h.paused, &h.deferred, f)
}
