package node

import (
	"slices"
	"sort"
	"strings"
)

// tracking is what a node remembers of who has read what.
type tracking struct {
	// readers are the connections that have read a key, by their numbers, in order.
	readers map[string][]int64
	// changed are the keys to tell to who gets all changes.
	changed []change
	// flushing: all keys are being removed, of which one message tells.
	flushing bool
	// holding: who has read a key is told of it after its events; held are such keys.
	holding bool
	held    []string
}

// change is a key that was changed, and by whom; 0: nobody.
type change struct {
	key string
	by  int64
}

// tracks is what a connection has asked to be told of.
type tracks struct {
	on, bcast, optIn, optOut, noLoop bool
	// caching: CLIENT CACHING came before.
	caching  bool
	prefixes []string
}

// remember takes note of keys that a connection reads.
func (x *call) remember(keys []string) {
	t := &x.c.tracks
	if !t.on || t.bcast || t.optIn && !t.caching || t.optOut && t.caching {
		return
	}
	n := x.n
	if n.readers == nil {
		n.readers = make(map[string][]int64)
	}
	for _, key := range keys {
		if list := n.readers[key]; !slices.Contains(list, x.c.id) {
			i, _ := slices.BinarySearch(list, x.c.id)
			n.readers[key] = slices.Insert(list, i, x.c.id)
		}
	}
}

// Modified implements model.Listener.
func (n *Node) Modified(key string) {
	if n.flushing {
		return
	}
	if n.holding {
		n.held = append(n.held, key)
		return
	}
	if slices.ContainsFunc(n.conns, func(c *Conn) bool { return c.tracks.on && c.tracks.bcast }) {
		k := change{key: key}
		if n.current != nil {
			k.by = n.current.id
		}
		n.changed = append(n.changed, k)
	}
	if readers := n.readers[key]; readers != nil {
		delete(n.readers, key)
		for _, id := range readers {
			c := n.conn(id)
			if c != nil && c.tracks.on && !c.tracks.bcast && (!c.tracks.noLoop || c != n.current) {
				c.invalidate(key)
			}
		}
	}
	if n.current == nil {
		n.broadcast()
	}
}

// eventsFirst publishes what a command does to a key before it tells who has read the key. With most commands Redis does it the other way.
func (n *Node) eventsFirst(do func()) {
	n.holding = true
	do()
	n.holding = false
	for _, key := range n.held {
		n.Modified(key)
	}
	n.held = n.held[:0]
}

func (n *Node) conn(id int64) *Conn {
	for _, c := range n.conns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// invalidate tells a connection of keys that were changed; none: all were.
func (c *Conn) invalidate(keys ...string) {
	if !c.v3 {
		return // the model sends nothing to other connections
	}
	r := reply{v3: true}
	r.push(2)
	r.bulk("invalidate")
	if len(keys) == 0 {
		r.null()
	} else {
		r.words(keys...)
	}
	c.give(r.b, false)
}

// broadcast tells who gets all changes, once for each prefix.
func (n *Node) broadcast() {
	if len(n.changed) == 0 {
		return
	}
	changed := n.changed
	n.changed = nil
	sort.SliceStable(changed, func(i, j int) bool { return changed[i].key < changed[j].key })
	var prefixes []string
	for _, c := range n.conns {
		prefixes = append(prefixes, c.tracks.prefixes...)
	}
	slices.Sort(prefixes)
	for _, p := range slices.Compact(prefixes) {
		for _, c := range n.conns {
			if !slices.Contains(c.tracks.prefixes, p) {
				continue
			}
			var keys []string
			last := make(map[string]int64)
			for _, k := range changed {
				if strings.HasPrefix(k.key, p) {
					if _, twice := last[k.key]; !twice {
						keys = append(keys, k.key)
					}
					last[k.key] = k.by
				}
			}
			if c.tracks.noLoop {
				keys = slices.DeleteFunc(keys, func(key string) bool { return last[key] == c.id })
			}
			if len(keys) > 0 {
				c.invalidate(keys...)
			}
		}
	}
}

// forgetAll tells everybody that all keys are gone.
func (n *Node) forgetAll() {
	n.readers = nil
	for _, c := range n.conns {
		if c.tracks.on {
			c.invalidate()
		}
	}
}

// trackingCommand is CLIENT TRACKING.
func trackingCommand(x *call, w []string) {
	t := tracks{caching: x.c.tracks.caching}
	for i := 3; i < len(w); i++ {
		switch option := strings.ToUpper(w[i]); {
		case option == "REDIRECT" && i+1 < len(w):
			x.n.unknown("CLIENT TRACKING REDIRECT")
			i++
			if _, ok := x.int(w[i]); !ok {
				return
			}
			x.fail("ERR The client ID you want redirect to does not exist")
			return
		case option == "BCAST":
			t.bcast = true
		case option == "OPTIN":
			t.optIn = true
		case option == "OPTOUT":
			t.optOut = true
		case option == "NOLOOP":
			t.noLoop = true
		case option == "PREFIX" && i+1 < len(w):
			i++
			t.prefixes = append(t.prefixes, w[i])
		default:
			x.fail(errSyntax)
			return
		}
	}
	switch strings.ToUpper(w[2]) {
	case "ON":
		x.track(t)
	case "OFF":
		x.c.tracks = tracks{caching: t.caching}
		x.ok()
	default:
		x.fail(errSyntax)
	}
}

func (x *call) track(t tracks) {
	was := &x.c.tracks
	switch {
	case !t.bcast && len(t.prefixes) > 0:
		x.fail("ERR PREFIX option requires BCAST mode to be enabled")
	case was.on && was.bcast != t.bcast:
		x.fail("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.")
	case t.bcast && (t.optIn || t.optOut):
		x.fail("ERR OPTIN and OPTOUT are not compatible with BCAST")
	case t.optIn && t.optOut:
		x.fail("ERR You can't specify both OPTIN mode and OPTOUT mode")
	case was.optIn && t.optOut, was.optOut && t.optIn:
		x.fail("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.")
	case !t.bcast || !x.refuseOverlap(t.prefixes):
		x.startTracking(t)
	}
}

// startTracking begins to track, with the prefixes that are tracked already.
func (x *call) startTracking(t tracks) {
	was := &x.c.tracks
	if t.bcast && len(t.prefixes) == 0 {
		t.prefixes = []string{""}
	}
	for _, p := range was.prefixes {
		if !slices.Contains(t.prefixes, p) {
			t.prefixes = append(t.prefixes, p)
		}
	}
	t.on = true
	*was = t
	x.ok()
}

// refuseOverlap refuses prefixes of which one begins with the other.
func (x *call) refuseOverlap(prefixes []string) bool {
	for i, p := range prefixes {
		for _, q := range x.c.tracks.prefixes {
			if strings.HasPrefix(p, q) || strings.HasPrefix(q, p) {
				x.refuse("Prefix '" + p + "' overlaps with an existing prefix '" + q + "'. Prefixes for a single client must not overlap.")
				return true
			}
		}
		for _, q := range prefixes[i+1:] {
			if strings.HasPrefix(p, q) || strings.HasPrefix(q, p) {
				x.refuse("Prefix '" + p + "' overlaps with another provided prefix '" + q + "'. Prefixes for a single client must not overlap.")
				return true
			}
		}
	}
	return false
}

// caching is CLIENT CACHING.
func caching(x *call, w []string) {
	t := &x.c.tracks
	switch {
	case !t.on:
		x.fail("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case strings.EqualFold(w[2], "YES") && !t.optIn:
		x.fail("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case strings.EqualFold(w[2], "NO") && !t.optOut:
		x.fail("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case strings.EqualFold(w[2], "YES"), strings.EqualFold(w[2], "NO"):
		t.caching = true
		x.ok()
	default:
		x.fail(errSyntax)
	}
}
