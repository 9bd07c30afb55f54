package linear

import "math"

// grantOps are the operations of one tagged grant, as indices; -1 for none.
type grantOps struct{ acquire, release int32 }

// Mutex decides a history of a lock whose grants are tagged: at most one Acquire
// and one Release or Expire for each tag, which is B, counted from 0 without many gaps. It is legal
// where the holds of the tags can be laid out one after the other.
// It is Undecided where a tag is missing or has several of a kind, and where an
// operation is Maybe.
func Mutex(h History) Result {
	zones, grants, r := mutexZones(h)
	if r.Outcome != 0 {
		return r
	}
	a, b, found := Clash(zones)
	if !found {
		return legal()
	}
	var witness []int
	for _, tag := range [2]int32{a, b} {
		for _, i := range [2]int32{grants[tag].acquire, grants[tag].release} {
			if i >= 0 {
				witness = append(witness, int(i))
			}
		}
	}
	return illegal("two grants at once", witness...)
}

// mutexZones are the zones of the grants that surely were; their IDs are the tags. The outcome of the result is 0, if it is not decided
// by what a grant is by itself.
func mutexZones(h History) (zones []Zone, grants []grantOps, r Result) {
	if grants, r = grantsByTag(h.Ops); r.Outcome != 0 {
		return nil, nil, r
	}
	zones = make([]Zone, 0, len(grants))
	for tag := range grants {
		z, known, r := zoneOf(h.Ops, grants[tag])
		if r.Outcome != 0 {
			return nil, nil, r
		}
		if known {
			z.ID = int32(tag)
			zones = append(zones, z)
		}
	}
	return zones, grants, r
}

func grantsByTag(ops []Op) ([]grantOps, Result) {
	grants := make([]grantOps, 0, len(ops)/2+1)
	for i := range ops {
		o := &ops[i]
		if o.Maybe {
			return nil, undecided(whyMaybe)
		}
		if o.B < 0 || o.B > int64(16*len(ops)+1024) {
			return nil, undecided("not a history of tagged grants")
		}
		for int64(len(grants)) <= o.B {
			grants = append(grants, grantOps{-1, -1})
		}
		g := &grants[o.B]
		slot := &g.acquire
		switch o.Kind {
		case Acquire:
		case Release, Expire:
			slot = &g.release
		default:
			return nil, undecided("not a history of a lock")
		}
		if *slot >= 0 {
			return nil, undecided("a grant was given or ended twice")
		}
		*slot = int32(i)
	}
	return grants, Result{}
}

// zoneOf is the zone of a grant. known is false where it may not have been at
// all, or where nothing says when it was.
func zoneOf(ops []Op, g grantOps) (z Zone, known bool, r Result) {
	z = Zone{From: Never, To: math.MaxInt64}
	if g.release >= 0 {
		o := &ops[g.release]
		z.From, z.To = o.Return, o.Call
	}
	if g.acquire < 0 {
		if z.From != Never {
			return z, false, illegal("a release of a lock that was never granted", int(g.release))
		}
		return z, false, r
	}
	a := &ops[g.acquire]
	if z.From < a.Call {
		return z, false, illegal("a release before its grant was asked for", int(g.acquire), int(g.release))
	}
	z.From, z.To = min(z.From, a.Return), max(z.To, a.Call)
	return z, z.From != Never, r
}

// Lease turns a history of tagged grants into one of leased grants: a grant ends
// at its release or at the end of its promise, whichever is first. until has for
// each tag the end of the promise, None where there was none. A grant whose
// promise was over before it was answered is left out: nobody was ever inside it.
// It is Undecided (the second result) under the same conditions as Mutex.
//
// A promise ends at an instant, so it becomes an Expire with equal call and
// return. A release that was asked for before that instant stays, and took effect
// by then or did no more matter.
func Lease(h History, until []int64) (History, Result) {
	grants, r := grantsByTag(h.Ops)
	if r.Outcome != 0 {
		return h, r
	}
	leased := History{Initial: h.Initial, Lists: h.Lists, Ops: make([]Op, 0, len(h.Ops))}
	for tag, g := range grants {
		end := int64(None)
		if tag < len(until) && g.acquire >= 0 {
			end = until[tag]
		}
		if end != None && end <= h.Ops[g.acquire].Return {
			continue
		}
		if g.acquire >= 0 {
			leased.Ops = append(leased.Ops, h.Ops[g.acquire])
		}
		switch {
		case g.release >= 0 && (end == None || h.Ops[g.release].Call < end):
			o := h.Ops[g.release]
			if end != None {
				o.Return = min(o.Return, end)
			}
			leased.Ops = append(leased.Ops, o)
		case end != None:
			o := h.Ops[g.acquire]
			o.Kind, o.Call, o.Return = Expire, end, end
			leased.Ops = append(leased.Ops, o)
		}
	}
	return leased, Result{}
}
