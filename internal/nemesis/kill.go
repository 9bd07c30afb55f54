package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name: "kill",
		Title: "kill a client, a node, a sentinel or the resource (SIGKILL), " +
			"and start it again with its data, without them, as after a power cut, or from a damaged file",
		Powers: []world.Power{world.CrashPower},
		New:    func() Fault { return &kill{} },
	})
}

// kill ends a process and starts it again.
type kill struct {
	processOrResource `yaml:",inline"`
	Keep              world.Keep    `yaml:"keep" doc:"what it finds on its disk afterwards: its data, nothing, only what had been fsynced, as after a power cut; or its data with the last write of its append-only file torn, or with a bit of it flipped" default:"data" values:"data,nothing,synced,torn,flipped"`
	ByClock           bool          `yaml:"by_its_clock" doc:"how long it stays down is measured by the clock of its own machine, which faults can move" default:"false"`
	For               time.Duration `yaml:"for" doc:"how long it stays down; without it a node or a sentinel is back when everything heals, and a client never" min:"1ms" max:"10m"`
}

// Powers are more where the disk is to lose something, too.
func (k *kill) Powers() []world.Power {
	powers := []world.Power{world.CrashPower}
	switch k.Keep {
	case world.KeepSynced:
		powers = append(powers, world.PowerCutPower)
	case world.KeepTorn:
		powers = append(powers, world.TearPower)
	case world.KeepFlipped:
		powers = append(powers, world.FlipPower)
	case world.KeepData, world.KeepNothing:
	}
	return powers
}

func (k *kill) Length() time.Duration { return k.For }

func (k *kill) Check(c Cast) []Complaint {
	list := k.check(c)
	if k.Sentinel != "" && k.Keep != world.KeepData {
		list = append(list, Complaint{Key: "keep", Message: "a sentinel keeps its configuration file, which has all that it knows"})
	}
	if k.Keep.Damages() && k.Sentinel == "" && k.Node == "" {
		list = append(list, Complaint{Key: "keep", Message: "only the append-only file of a node can be " + k.Keep.String()})
	}
	if k.ByClock && (k.Node == "" || k.For == 0) {
		list = append(list, Complaint{Key: "by_its_clock", Message: "only a node that comes back has a clock to measure by"})
	}
	return list
}

// MeasuredBy is the node by whose clock Length is measured; empty: by the run's.
func (k *kill) MeasuredBy() string {
	if k.ByClock {
		return k.Node
	}
	return ""
}

// Impact implements Fault.
func (k *kill) Impact(w world.World) history.Impact {
	does, words := []history.Does{history.Kills}, "was killed"
	if k.Returns() {
		words += " and was down"
	}
	if k.Client == "" && k.Keep == world.KeepNothing {
		does, words = append(does, history.Forgets), "was killed, lost its data, and was down"
	}
	if k.Client == "" && k.Keep == world.KeepSynced {
		does, words = append(does, history.Forgets), "lost its power, with all that was not yet on its disk, and was down"
	}
	if damage, is := damaged[k.Keep]; is && k.Node != "" {
		does, words = append(does, history.Forgets), "was killed, "+damage+", and was down"
	}
	i := k.impact(w, words, does...)
	i.Instant = !k.Returns()
	return i
}

// damaged says what became of a node's append-only file.
var damaged = map[world.Keep]string{
	world.KeepTorn:    "the last write in its append-only file was torn",
	world.KeepFlipped: "a bit of the last write in its append-only file was flipped",
}

func (k *kill) Begin(w world.World) (undo func() error, err error) {
	return func() error {
		if !k.Returns() {
			return nil // dead for good
		}
		return w.Restart(k.Target(), k.Keep)
	}, w.Kill(k.Target())
}

// freezeTarget implements slowFault: a store can see that a client's connections end, and give its lock to another, before its
// processes are known to be dead.
func (k *kill) freezeTarget(w world.World) bool {
	f, slow := w.(world.Freezer)
	return slow && k.Client != "" && f.Freeze(k.Client) == nil
}

// Returns reports whether a killed client comes back.
func (k *kill) Returns() bool { return k.Client == "" || k.For > 0 }

// Forgets reports that a fault may let a node forget something, which keeps its data so.
func Forgets(f Fault, p world.Persistence) bool {
	switch f := f.(type) {
	case *flush, *evict:
		return true
	case *moveSlot:
		return f.Keys == world.KeysLeft
	}
	k, ok := f.(*kill)
	if !ok || k.Node == "" {
		return false
	}
	if k.Keep == world.KeepData { // what was answered has been handed to the kernel
		return p != world.AOFNo && p != world.AOFEverysec && p != world.AOFAlways
	}
	return k.Keep != world.KeepSynced || p != world.AOFAlways
}

// Wipes reports that a fault lets a node forget its data.
func Wipes(f Fault) bool {
	k, ok := f.(*kill)
	return ok && k.Node != "" && k.Keep == world.KeepNothing
}
