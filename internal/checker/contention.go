package checker

import "github.com/redlock-sim/redlock-sim/internal/history"

// contention counts the chances that exclusion had to fail: attempts at the lock
// while another client had it, or else hand-overs from one client to another.
func (v *view) contention() Effort {
	if v.contended == nil {
		e := v.countContention()
		v.contended = &e
	}
	return *v.contended
}

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
	begins, ends := make(map[int]int, len(v.grants)), make(map[int][]int, len(v.grants))
	for i := range v.grants {
		begins[v.grants[i].ret] = i
		if v.grants[i].ends >= 0 {
			ends[v.grants[i].ends] = append(ends[v.grants[i].ends], i)
		}
	}
	calls, returns := make(map[int]int), make(map[int]int)
	for i := range v.ops {
		if v.ops[i].F == history.Acquire {
			calls[v.ops[i].Call], returns[v.ops[i].Return] = i, i
		}
	}
	contended, handovers := make(map[int]bool), 0
	for i := range v.h.Events {
		for _, g := range ends[i] {
			of(v.grants[g].lock).loses(v.grants[g].client)
		}
		if op, ok := calls[i]; ok {
			if k := v.key(op); of(k.lock).asks(k.client, op) {
				contended[op] = true
			}
		}
		if op, ok := returns[i]; ok {
			k := v.key(op)
			delete(of(k.lock).pending, k.client)
		}
		if g, ok := begins[i]; ok {
			r := of(v.grants[g].lock)
			if r.gets(v.grants[g].client) {
				handovers++
			}
			for _, op := range r.pending {
				contended[op] = true
			}
		}
	}
	if len(contended) > 0 {
		return Effort{Operations: len(v.ops), Chances: len(contended), Of: "contended"}
	}
	return Effort{Operations: len(v.ops), Chances: handovers, Of: "handed over"}
}
