package checker

import (
	"cmp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// contention counts the chances that exclusion had to fail: attempts at the lock
// while another client had it, or else hand-overs from one client to another.
func (v *view) contention() Effort {
	if v.contended == nil {
		e := v.countContention()
		v.contended = &e
	}
	return *v.contended
}

// contended is what the chances are where an attempt met another client's grant.
const contended = "contended"

// rivals follows who has one lock and who asks for it.
type rivals struct {
	held    map[string]int // open grants by client
	holders int
	pending map[string]int // attempts by client, as indices into view.ops
	last    string         // who was granted last
}

// asks reports whether another client has the lock that a client asks for.
func (r *rivals) asks(client string, op int) bool {
	r.pending[client] = op
	return r.holders > 1 || r.holders == 1 && r.held[client] == 0
}

// gets reports whether the lock went from one client to another.
func (r *rivals) gets(client string) (handedOver bool) {
	handedOver = r.last != "" && r.last != client
	r.last = client
	if r.held[client]++; r.held[client] == 1 {
		r.holders++
	}
	return handedOver
}

func (r *rivals) loses(client string) {
	if r.held[client]--; r.held[client] == 0 {
		r.holders--
	}
}

func (v *view) countContention() Effort {
	locks := make(map[string]*rivals)
	of := func(lock string) *rivals {
		if locks[lock] == nil {
			locks[lock] = &rivals{held: map[string]int{}, pending: map[string]int{}}
		}
		return locks[lock]
	}
	begin, end := v.grants, v.endedGrants() // those still to come
	met, handovers := make([]bool, len(v.ops)), 0
	for i, op := range v.opAt {
		for ; len(end) > 0 && end[0].ends == i; end = end[1:] {
			of(end[0].lock).loses(end[0].client)
		}
		if op >= 0 && v.ops[op].F == history.Acquire {
			k := v.key(int(op))
			for _, r := range locks { // an attempt ends with the client's next at the latest
				delete(r.pending, k.client)
			}
			if v.ops[op].Return != i && of(k.lock).asks(k.client, int(op)) {
				met[op] = true
			}
		}
		if len(begin) > 0 && begin[0].ret == i {
			r := of(begin[0].lock)
			if r.gets(begin[0].client) {
				handovers++
			}
			for _, op := range r.pending {
				met[op] = true
			}
			begin = begin[1:]
		}
	}
	chances := 0
	for _, was := range met {
		if was {
			chances++
		}
	}
	if chances > 0 {
		return Effort{Operations: len(v.ops), Chances: chances, Of: contended}
	}
	return Effort{Operations: len(v.ops), Chances: handovers, Of: "handed over"}
}

// endedGrants are the grants that ended, in the order of their ends.
func (v *view) endedGrants() []*grant {
	list := make([]*grant, 0, len(v.grants))
	for i := range v.grants {
		if v.grants[i].ends >= 0 {
			list = append(list, &v.grants[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *grant) int { return cmp.Compare(a.ends, b.ends) })
	return list
}
