package model

import (
	"cmp"
	"slices"
	"strings"
)

// sorted finds a sorted set: the place of its key, and its elements; -1: it is not there. Anything else ends a script.
func (m *Memory) sorted(key string) (i int, list []Member) {
	i = m.Find(key)
	if i < 0 || m.fault != "" {
		return -1, nil
	}
	if m.Items[i].Kind() != SortedSet {
		m.fault = ErrWrongType
		return -1, nil
	}
	return i, m.Items[i].Members.List
}

// putSorted writes the elements of a sorted set; the key goes with the last one.
func (m *Memory) putSorted(key string, i int, list []Member) {
	if len(list) == 0 {
		m.Del(key)
		return
	}
	it := Item{Key: key}
	if i >= 0 {
		it = m.Items[i]
	}
	it.Members = &Members{Kind: SortedSet, List: list}
	m.Put(it)
}

// ZAdd gives an element of a sorted set a score.
func (m *Memory) ZAdd(key string, score float64, element string) {
	i, list := m.sorted(key)
	if m.fault != "" {
		return
	}
	if at := slices.Index(list, Member{Name: element, Score: score}); at >= 0 {
		return
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e Member) bool { return e.Name == element })
	list = append(list, Member{Name: element, Score: score})
	slices.SortFunc(list, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Name, b.Name)) })
	m.putSorted(key, i, list)
}

// ZRem removes an element.
func (m *Memory) ZRem(key, element string) bool {
	return m.zremove(key, func(e Member) bool { return e.Name == element }) > 0
}

// ZRemUpTo removes the elements with scores that are not greater than one.
func (m *Memory) ZRemUpTo(key string, score float64) {
	m.zremove(key, func(e Member) bool { return e.Score <= score })
}

func (m *Memory) zremove(key string, which func(Member) bool) int {
	i, list := m.sorted(key)
	left := slices.DeleteFunc(slices.Clone(list), which)
	if len(left) < len(list) {
		m.putSorted(key, i, left)
	}
	return len(list) - len(left)
}

// ZCard counts the elements.
func (m *Memory) ZCard(key string) int64 {
	_, list := m.sorted(key)
	return int64(len(list))
}

// ZFirst is the element with the lowest score; empty: there is none.
func (m *Memory) ZFirst(key string) string {
	if _, list := m.sorted(key); len(list) > 0 {
		return list[0].Name
	}
	return ""
}

// ZScore is the score of an element.
func (m *Memory) ZScore(key, element string) (float64, bool) {
	_, list := m.sorted(key)
	at := slices.IndexFunc(list, func(e Member) bool { return e.Name == element })
	if at < 0 {
		return 0, false
	}
	return list[at].Score, true
}
