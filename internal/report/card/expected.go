package card

import (
	"errors"
	"fmt"
)

// Change is a cell that is not as the expected card has it.
type Change struct {
	Lock string
	Cell *Cell
	// Before is what was expected; empty: the expected card does not have the cell.
	Before State
	// Red: it is a reason not to accept the new card.
	Red bool
	// Why says what it means.
	Why string
}

// Compare says where a card differs from the one that is expected, which covers its locks.
func Compare(expected, got *Card) []Change {
	var red, rest []Change
	for i := range got.Locks {
		l := &got.Locks[i]
		before := expected.lock(l.Label, len(got.Locks))
		note := func(change *Change) {
			if change == nil {
				return
			}
			if change.Lock = l.Label; change.Red {
				red = append(red, *change)
			} else {
				rest = append(rest, *change)
			}
		}
		note(cellChange(before.conform(), l.conform()))
		if before.conform().State == Broken && l.conform().State == Broken && before.Conform != nil { // they may be others
			for j := range l.Conform {
				note(cellChange(before.Cell(l.Conform[j].ID), &l.Conform[j]))
			}
		}
		if before.Class != l.Class {
			note(&Change{Cell: l.conform(), Why: fmt.Sprintf("its class is %s, and was %s: other things are by design", l.Class, before.Class)})
		}
		for j := range l.Cells {
			note(cellChange(before.Cell(l.Cells[j].ID), &l.Cells[j]))
		}
	}
	return append(red, rest...)
}

// HasMore reports that the card has cells that another one lacks: of an audit of fewer cases.
func (c *Card) HasMore(other *Card) bool {
	for i := range c.Locks {
		l := other.lock(c.Locks[i].Label, len(c.Locks))
		for j := range c.Locks[i].Cells {
			if l == nil || l.Cell(c.Locks[i].Cells[j].ID) == nil {
				return true
			}
		}
	}
	return false
}

// Covers says which of the locks of an audit the card does not have.
func (c *Card) Covers(labels []string) error {
	if c.Interrupted {
		return errors.New("it is the card of an audit that was interrupted")
	}
	if len(c.Missing) > 0 {
		return errors.New("it is a merged card that lacks shards")
	}
	for _, label := range labels {
		if c.lock(label, len(labels)) == nil {
			return fmt.Errorf("the card has no lock %q", label)
		}
	}
	return nil
}

// lock is the column of a lock in an audit of so many. Where each card has one lock, it is that one,
// whatever it is called.
func (c *Card) lock(label string, of int) *Lock {
	for i := range c.Locks {
		if c.Locks[i].Label == label || of == 1 && len(c.Locks) == 1 {
			return &c.Locks[i]
		}
	}
	return nil
}

// cellChange is nil where a cell is as expected. What is unknown is told by the card itself,
// and what is not applicable counts neither way.
func cellChange(before, now *Cell) *Change {
	change := &Change{Cell: now}
	switch {
	case before == nil && now.State == Broken:
		change.Red, change.Why = true, "broken, and the expected card does not have it"
	case before == nil:
		change.Why = fmt.Sprintf("%s, and the expected card does not have it: renew the card", now.State)
	case before.State == now.State:
		return nil
	case now.State == Unknown:
		change.Why = fmt.Sprintf("unknown, and was %s", before.State)
	case now.State == NotApplicable || before.State == NotApplicable && now.State != Broken:
		change.Why = fmt.Sprintf("%s, and was %s", now.State, before.State)
	case before.Flaky:
		change.Why = fmt.Sprintf("%s, and was %s: it may be either", now.State, before.State)
	case now.State == Broken:
		change.Red, change.Why = true, fmt.Sprintf("lost: it was %s", before.State)
	case before.State == Broken:
		change.Red, change.Why = true, fmt.Sprintf("mended: it was broken, and is %s. Renew the card", now.State)
	default:
		change.Why = fmt.Sprintf("%s, and was %s", now.State, before.State)
	}
	if before != nil {
		change.Before = before.State
	}
	return change
}
