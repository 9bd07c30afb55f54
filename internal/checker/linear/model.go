package linear

// Cell is a register with the given initial value: Read, Write, CAS and
// CASFailed.
func Cell(initial int64) Model {
	return Model{
		Name: "register",
		Init: func() any { return initial },
		Step: func(state any, o *Op) (bool, any) {
			v := state.(int64)
			switch o.Kind {
			case Read:
				return v == o.A, v
			case Write:
				return true, o.A
			case CAS:
				return v == o.A, o.B
			case CASFailed:
				return v != o.A, v
			}
			return false, v
		},
		Hash: func(state any) uint64 { return uint64(state.(int64)) * 0x9e3779b97f4a7c15 },
	}
}

// nobody owns the lock.
const nobody = int32(-1)

// OwnerMutex is a lock that knows its owner: Acquire is legal only where nobody
// has it, Release and Expire only by the owner.
func OwnerMutex() Model {
	return Model{
		Name: "owner-aware mutex",
		Init: func() any { return nobody },
		Step: func(state any, o *Op) (bool, any) {
			owner := state.(int32)
			switch o.Kind {
			case Acquire:
				return owner == nobody, o.Process
			case Release, Expire:
				return owner == o.Process, nobody
			}
			return false, owner
		},
		Hash: func(state any) uint64 { return uint64(uint32(state.(int32))) * 0x9e3779b97f4a7c15 },
	}
}
