package linear

import (
	"encoding/binary"
	"fmt"
	"math"
)

// nobody owns the lock.
const nobody = int32(-1)

func mix(h uint64) uint64 {
	h ^= h >> 31
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// PlainMutex is a lock that does not know its owner: Acquire only where it is
// free, Release only where it is held.
func PlainMutex() Model {
	return Model{
		Name: "mutex", Kinds: KindsOf(Acquire, Release),
		Init: false,
		Step: func(state any, o *Op) (bool, any) {
			held := state.(bool)
			switch o.Kind {
			case Acquire:
				return !held, true
			case Release:
				return held, false
			}
			return false, held
		},
		Hash: func(state any) uint64 {
			if state.(bool) {
				return 0x9e3779b97f4a7c15
			}
			return 1
		},
		Settle: func(state any, ops []Op) any {
			n := 0
			if state.(bool) {
				n = 1
			}
			for i := range ops {
				if ops[i].Kind == Acquire {
					n++
				} else {
					n--
				}
			}
			return n > 0
		},
	}
}

// OwnerMutex is a lock that knows its owner, the process: Acquire only where
// nobody has it, Release only by the owner.
func OwnerMutex() Model {
	return ownedMutex("owner-aware mutex", func(o *Op) int64 { return int64(o.Process) })
}

// TaggedMutex is a lock whose grants have tags: Acquire only where it is free,
// Release and Expire only of the grant in force. With Lease it is the leased
// mutex.
func TaggedMutex() Model {
	return ownedMutex("mutex with tagged grants", func(o *Op) int64 { return o.B })
}

func ownedMutex(name string, who func(*Op) int64) Model {
	const nobody = int64(None)
	return Model{
		Name:      name,
		Kinds:     KindsOf(Acquire, Release, Expire),
		Processes: true,
		Init:      nobody,
		Step: func(state any, o *Op) (bool, any) {
			owner := state.(int64)
			switch o.Kind {
			case Acquire:
				return owner == nobody, who(o)
			case Release, Expire:
				return owner == who(o), nobody
			}
			return false, owner
		},
		Hash: func(state any) uint64 { return mix(uint64(state.(int64))) },
		Settle: func(state any, ops []Op) any {
			// In a legal part every grant but the last is ended, so the owner is
			// the one who acquired once more than it released.
			count := map[int64]int{state.(int64): 1}
			for i := range ops {
				if ops[i].Kind == Acquire {
					count[who(&ops[i])]++
				} else {
					count[who(&ops[i])]--
				}
			}
			for owner, n := range count {
				if n > 0 && owner != nobody {
					return owner
				}
			}
			return nobody
		},
	}
}

// reentrant is the state of a lock that its owner may take several times.
type reentrant struct {
	owner, count     int32
	current, highest int64 // tokens; None where unknown
}

func hashReentrant(state any) uint64 {
	s := state.(reentrant)
	return mix(uint64(uint32(s.owner))<<32|uint64(uint32(s.count))) ^ mix(uint64(s.current)+1) ^ mix(uint64(s.highest)+2)
}

// Reentrant is a lock that its owner may take up to limit times; 0: no limit.
func Reentrant(limit int) Model {
	return Model{
		Name:      "re-entrant mutex",
		Kinds:     KindsOf(Acquire, Release),
		Processes: true,
		Init:      reentrant{owner: nobody, current: None, highest: None},
		Step: func(state any, o *Op) (bool, any) {
			s := state.(reentrant)
			return s.step(o, limit)
		},
		Hash:   hashReentrant,
		Settle: settleReentrant,
	}
}

// step takes the lock or gives it back, with no regard to tokens.
func (s reentrant) step(o *Op, limit int) (bool, any) {
	switch {
	case o.Kind == Acquire && s.owner == nobody:
		s.owner, s.count = o.Process, 1
		return true, s
	case o.Kind == Acquire:
		ok := s.owner == o.Process && (limit <= 0 || int(s.count) < limit)
		s.count++
		return ok, s
	case o.Kind == Release:
		ok := s.owner == o.Process && s.count > 0
		if s.count--; s.count == 0 {
			s.owner, s.current = nobody, None
		}
		return ok, s
	}
	return false, s
}

// Fenced is an owner-aware lock whose grants carry tokens: each known token is
// greater than the last known one. An unknown token is accepted and changes
// nothing.
func Fenced() Model {
	return Model{
		Name:      "fenced mutex",
		Kinds:     KindsOf(Acquire, Release),
		Processes: true,
		Init:      reentrant{owner: nobody, current: None, highest: None},
		Step: func(state any, o *Op) (bool, any) {
			s := state.(reentrant)
			switch o.Kind {
			case Acquire:
				ok := s.owner == nobody && (o.A == None || o.A > s.highest)
				s.owner, s.count = o.Process, 1
				if o.A != None {
					s.highest = o.A
				}
				return ok, s
			case Release:
				ok := s.owner == o.Process
				s.owner, s.count = nobody, 0
				return ok, s
			}
			return false, s
		},
		Hash:   hashReentrant,
		Settle: settleFenced,
	}
}

// ReentrantFenced is both: a grant of the free lock has a token above the
// highest, or an unknown one; a re-entry has the token of the grant, or an unknown
// one. The last release clears owner and current token and keeps the highest.
func ReentrantFenced(limit int) Model {
	return Model{
		Name:      "re-entrant fenced mutex",
		Kinds:     KindsOf(Acquire, Release),
		Processes: true,
		Init:      reentrant{owner: nobody, current: None, highest: None},
		Step: func(state any, o *Op) (bool, any) {
			s := state.(reentrant)
			if o.Kind == Acquire && o.A != None {
				switch {
				case s.owner == nobody || s.current == None:
					// The owner's token was unknown until now, so it is only
					// known to be above the highest.
					if o.A <= s.highest {
						return false, s
					}
				case o.A != s.current:
					return false, s
				}
				s.current, s.highest = o.A, o.A
			}
			return s.step(o, limit)
		},
		Hash: hashReentrant,
	}
}

// settleReentrant counts per process; in a legal part only one is left above
// zero.
func settleReentrant(state any, ops []Op) any {
	s := state.(reentrant)
	count := map[int32]int32{s.owner: s.count}
	for i := range ops {
		if ops[i].Kind == Acquire {
			count[ops[i].Process]++
		} else {
			count[ops[i].Process]--
		}
	}
	s.owner, s.count = nobody, 0
	for p, n := range count {
		if n > 0 {
			s.owner, s.count = p, n
		}
	}
	return s
}

func settleFenced(state any, ops []Op) any {
	s := settleReentrant(state, ops).(reentrant)
	for i := range ops {
		if ops[i].Kind == Acquire {
			s.highest = max(s.highest, ops[i].A)
		}
	}
	return s
}

// Semaphore has a number of permits: Acquire where fewer are held in all,
// Release by a process that holds one. The state has a count for each process of
// the history; an operation of any other process leaves a history undecided.
func Semaphore(permits int, h History) Model {
	slot := make(map[int32]int)
	for i := range h.Ops {
		if _, ok := slot[h.Ops[i].Process]; !ok {
			slot[h.Ops[i].Process] = len(slot)
		}
	}
	change := func(state string, p int32, by int) string {
		b := []byte(state)
		count := b[permitBytes*slot[p]:]
		binary.BigEndian.PutUint32(count, binary.BigEndian.Uint32(count)+uint32(by))
		return string(b)
	}
	known := func(o *Op) bool {
		_, ok := slot[o.Process]
		return ok
	}
	return Model{
		Name:      "semaphore",
		Kinds:     KindsOf(Acquire, Release),
		Processes: true,
		Init:      string(make([]byte, permitBytes*len(slot))),
		Step: func(state any, o *Op) (bool, any) {
			s := state.(string)
			switch {
			case !known(o):
				return false, s
			case o.Kind == Acquire:
				if total(s) >= permits {
					return false, s
				}
				return true, change(s, o.Process, 1)
			case o.Kind == Release:
				if permitsOf(s, slot[o.Process]) == 0 {
					return false, s
				}
				return true, change(s, o.Process, -1)
			}
			return false, s
		},
		Hash: func(state any) uint64 { return hashString(state.(string)) },
		Settle: func(state any, ops []Op) any {
			s := state.(string)
			for i := range ops {
				by := 1
				if ops[i].Kind == Release {
					by = -1
				}
				s = change(s, ops[i].Process, by)
			}
			return s
		},
		strange: func(o *Op) string {
			if known(o) {
				return ""
			}
			return fmt.Sprintf("is of process %d, and the semaphore was made for a history without it", o.Process)
		},
	}
}

// MaxPermits is the most permits a Semaphore may have.
const MaxPermits = math.MaxInt32

// permitBytes is the width of a count of permits in the state of a Semaphore.
const permitBytes = 4

// permitsOf are the permits that the process in a slot holds.
func permitsOf(state string, slot int) uint32 {
	b := state[permitBytes*slot:]
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func total(state string) int {
	n := 0
	for slot := range len(state) / permitBytes {
		n += int(permitsOf(state, slot))
	}
	return n
}

func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
