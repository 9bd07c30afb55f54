package evidence

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/linear"
)

// asList turns a history of a text that is only appended to into one of a list
// of the pieces, which can be decided directly. It gives up where a piece is
// appended twice, where the text is overwritten, and where what was read can be
// taken apart in no way or in two.
func asList(h linear.History, texts []string) (linear.History, bool) {
	pieces := make(map[int64]string)
	for i := range h.Ops {
		o := &h.Ops[i]
		switch o.Kind {
		case linear.Read:
		case linear.Append:
			if _, twice := pieces[o.A]; twice || texts[o.A] == "" {
				return h, false
			}
			pieces[o.A] = texts[o.A]
		default:
			return h, false
		}
	}
	byStart := make(map[byte][]int64)
	for id, piece := range pieces {
		byStart[piece[0]] = append(byStart[piece[0]], id)
	}
	list := linear.History{Ops: make([]linear.Op, len(h.Ops))}
	for i := range h.Ops {
		o := h.Ops[i]
		if o.Kind == linear.Append {
			o.B = linear.None
		} else {
			parts, ok := takeApart(texts[o.A], byStart, pieces)
			if !ok {
				return h, false
			}
			o.Kind, o.A = linear.ReadList, int64(len(list.Lists))
			list.Lists = append(list.Lists, parts)
		}
		list.Ops[i] = o
	}
	return list, true
}

// takeApart finds the only way to make a text of pieces.
func takeApart(text string, byStart map[byte][]int64, pieces map[int64]string) ([]int64, bool) {
	parts := []int64{}
	for text != "" {
		found := int64(-1)
		for _, id := range byStart[text[0]] {
			if !strings.HasPrefix(text, pieces[id]) {
				continue
			}
			if found >= 0 {
				return nil, false
			}
			found = id
		}
		if found < 0 {
			return nil, false
		}
		parts = append(parts, found)
		text = text[len(pieces[found]):]
	}
	return parts, true
}
