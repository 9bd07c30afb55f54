package report

import "fmt"

// CardChange is a cell that is not as the expected card has it.
type CardChange struct {
	Lock string
	Cell *Cell
	// Before is what was expected; empty: the expected card does not have the cell.
	Before CellState
	// Red: it is a reason not to accept the new card.
	Red bool
	// Why says what it means.
	Why string
}

// CompareCards says where a card differs from the one that is expected, which covers its locks.
func CompareCards(expected, got *Card) []CardChange {
	var red, rest []CardChange
	for i := range got.Locks {
		l := &got.Locks[i]
		before := expected.lock(l.Label, len(got.Locks))
		for j := range l.Cells {
			switch change := cellChange(before.Cell(l.Cells[j].ID), &l.Cells[j]); {
			case change == nil:
			case change.Red:
				change.Lock = l.Label
				red = append(red, *change)
			default:
				change.Lock = l.Label
				rest = append(rest, *change)
			}
		}
	}
	return append(red, rest...)
}

// Covers says which of the locks of an audit the card does not have.
func (c *Card) Covers(labels []string) error {
	for _, label := range labels {
		if c.lock(label, len(labels)) == nil {
			return fmt.Errorf("the card has no lock %q", label)
		}
	}
	return nil
}

// lock is the column of a lock in an audit of so many. Where each card has one lock, it is that one,
// whatever it is called.
func (c *Card) lock(label string, of int) *CardLock {
	for i := range c.Locks {
		if c.Locks[i].Label == label || of == 1 && len(c.Locks) == 1 {
			return &c.Locks[i]
		}
	}
	return nil
}

// cellChange is nil where a cell is as expected. What is unknown is told by the card itself,
// and what is not applicable counts neither way.
func cellChange(before, now *Cell) *CardChange {
	change := &CardChange{Cell: now}
	switch {
	case before == nil && now.State == CellBroken:
		change.Red, change.Why = true, "broken, and the expected card does not have it"
	case before == nil:
		change.Why = fmt.Sprintf("%s, and the expected card does not have it: renew the card", now.State)
	case before.State == now.State:
		return nil
	case now.State == CellUnknown:
		change.Why = fmt.Sprintf("unknown, and was %s", before.State)
	case now.State == CellNotApplicable || before.State == CellNotApplicable && now.State != CellBroken:
		change.Why = fmt.Sprintf("%s, and was %s", now.State, before.State)
	case before.Flaky:
		change.Why = fmt.Sprintf("%s, and was %s: it may be either", now.State, before.State)
	case now.State == CellBroken:
		change.Red, change.Why = true, fmt.Sprintf("lost: it was %s", before.State)
	case before.State == CellBroken:
		change.Red, change.Why = true, fmt.Sprintf("mended: it was broken, and is %s. Renew the card", now.State)
	default:
		change.Why = fmt.Sprintf("%s, and was %s", now.State, before.State)
	}
	if before != nil {
		change.Before = before.State
	}
	return change
}
