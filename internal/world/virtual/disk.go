package virtual

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// disk is what a node has on stable storage. Redis looks about once a second of
// the wall clock what there is to save; the model looks when somebody asks, at
// what would have been saved by then: between two looks nothing changes.
type disk struct {
	// synced is what a power cut leaves.
	synced []model.Item
	// syncedTo is how many writes that has.
	syncedTo int64
	// dirty says that memory differs from it, since the second that it names.
	dirty bool
	since int64
	// last is the second of the wall clock of the last fsync or snapshot.
	last int64
	// savesLater: what is written is saved after a while.
	savesLater bool
	// writes and expiries are how many the memory had when a command began, or made a snapshot by FLUSHALL.
	writes, expiries int64
	// log is the end of an append-only file.
	log writeLog
}

const second = 1_000_000 // in microseconds

// started takes the state at the node's start for saved: it came from there. But what the process before it had appended is synced no
// sooner than the next write.
func (d *disk) started(n *redisModel, now int64, keep world.Keep) {
	d.last = now / second
	d.savesLater = n.persistence == world.RDB || n.persistence == world.AOFEverysec
	d.dirty, d.syncedTo = false, 0
	if keep != world.KeepData && keep != world.KeepTorn || n.persistence != world.AOFEverysec || d.log.kept && d.log.synced == d.log.all {
		d.save(n)
	}
}

func (d *disk) save(n *redisModel) {
	d.dirty = false
	if n.persistence != world.NoPersistence {
		d.synced = append(d.synced[:0], n.memory.Items...)
		d.syncedTo, d.log.synced = n.memory.Writes, d.log.all
	}
}

// catchUp lets happen what happened by itself since the last look.
func (d *disk) catchUp(n *redisModel, now int64) {
	if !d.dirty {
		return
	}
	switch n.persistence {
	case world.RDB:
		// save 1 1: more than one second after the last snapshot, if anything
		// has changed.
		d.saveIfDue(n, now, d.last+2)
	case world.AOFEverysec:
		d.saveIfDue(n, now, d.last+1)
	case world.NoPersistence, world.AOFNo, world.AOFAlways: // nothing is saved later
	}
}

// saveIfDue saves if a second of the wall clock has come, and that of the first write.
func (d *disk) saveIfDue(n *redisModel, now, from int64) {
	if from = max(from, d.since); now/second >= from {
		d.last = from
		d.save(n)
	}
}

// saveAfterJump catches up with seconds that the node has not seen: its clock jumped, or it
// stood still. What has become due since the last save is saved now, with all
// that was written meanwhile.
func (d *disk) saveAfterJump(n *redisModel, now, last int64) {
	if d.catchUp(n, now); d.last != last {
		d.last = now / second
		d.save(n)
	}
}

// flushed takes note of FLUSHALL or FLUSHDB. Either is appended also where there was nothing. After FLUSHALL Redis makes a snapshot at
// once.
func (d *disk) flushed(n *redisModel, all bool) {
	if n.persistence != world.RDB {
		d.log.open.all = true
		d.wrote(n, n.memory.Now)
	} else if all {
		d.last = n.memory.Now / second
		d.save(n)
		d.count(n)
	}
}

func (d *disk) count(n *redisModel) {
	d.writes, d.expiries = n.memory.Writes, n.memory.Expiries
	d.log.begin(n.memory.Items)
}

// noteWrites lets the node know what it wrote last, where a fault can tear that.
func (n *redisModel) noteWrites() {
	if n.persistence.AppendOnly() && slices.Contains(n.w.spec.Needs, world.TearPower) {
		n.disk.log.kept, n.memory.Changed = true, n.disk.log.note // no replica asks what has changed: see checkRoles
	}
}

// hasChanges reports that more than expiries came since count: those are no changes to a snapshot.
func (d *disk) hasChanges(n *redisModel) bool {
	return n.memory.Writes-d.writes > n.memory.Expiries-d.expiries
}

// wrote takes note of a write.
func (d *disk) wrote(n *redisModel, now int64) {
	d.log.end()
	if d.savesLater && !d.dirty {
		d.dirty, d.since = true, now/second
	}
	switch n.persistence {
	case world.AOFEverysec:
		if now/second > d.last { // the first write of a second
			d.last = now / second
			d.save(n)
		}
	case world.AOFAlways:
		d.save(n)
	case world.NoPersistence, world.RDB, world.AOFNo: // a write alone saves nothing
	}
}

// load is what the node finds when it starts.
func (d *disk) load(n *redisModel, keep world.Keep) []model.Item {
	switch {
	case keep == world.KeepNothing || n.persistence == world.NoPersistence:
		d.log.cutTo(0)
		return nil
	case keep == world.KeepTorn && n.persistence.AppendOnly():
		return d.log.tear(n.memory.Items, n.memory.Milliseconds())
	case n.persistence == world.RDB:
		// What has expired by the clock of the start is not loaded.
		return slices.DeleteFunc(slices.Clone(d.synced), func(it model.Item) bool {
			return it.Expires != 0 && n.memory.Milliseconds() > it.Expires
		})
	case keep == world.KeepData || n.persistence == world.AOFAlways:
		return slices.Clone(n.memory.Items)
	case n.persistence == world.AOFEverysec:
		d.log.cutTo(d.log.synced)
		return slices.Clone(d.synced)
	}
	d.log.cutTo(0)
	return nil
}
