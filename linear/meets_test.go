package linear

import "slices"

// meets reports whether a history meets the preconditions of the direct algorithm
// of that name, as the table in DESIGN.md has them.
func meets(name string, h History) bool {
	all := func(ok func(o *Op) bool) bool {
		return !slices.ContainsFunc(h.Ops, func(o Op) bool { return !ok(&o) })
	}
	seen := map[int64]bool{}
	once := func(v int64) bool {
		fresh := !seen[v]
		seen[v] = true
		return fresh
	}
	switch name {
	case "increment":
		return all(meetsIncrement)
	case "register":
		once(h.Initial)
		return all(func(o *Op) bool {
			switch o.Kind {
			case Write:
				return once(o.A)
			case CAS:
				return o.A != o.B && once(o.B)
			case CASFailed:
				return o.B != None || o.Optional()
			}
			return o.Kind == Read
		})
	case "append":
		read := elementsRead(h)
		looked := slices.ContainsFunc(h.Ops, func(o Op) bool { return o.Kind == Append && o.B != None })
		return all(func(o *Op) bool {
			return o.Kind == ReadList || o.Kind == Append && once(o.A) && (!looked || o.B != None || read[o.A])
		})
	case "jobs":
		return all(func(o *Op) bool { return o.Kind == Run })
	case "tagged":
		return all(func(o *Op) bool {
			return o.Kind == Acquire && once(2*o.B) || (o.Kind == Release || o.Kind == Expire) && once(2*o.B+1)
		})
	}
	return false
}

// elementsRead are the elements of all lists whose reads were answered.
func elementsRead(h History) map[int64]bool {
	read := map[int64]bool{}
	for _, o := range h.Ops {
		if o.Kind == ReadList && !o.Optional() {
			for _, e := range h.Lists[o.A] {
				read[e] = true
			}
		}
	}
	return read
}

func meetsIncrement(o *Op) bool {
	return o.Kind == Read || o.Kind == CAS && o.B == o.A+1 || o.Kind == Add && o.A == 1 && o.Optional()
}
