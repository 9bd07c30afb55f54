// Package swimlane turns a history into the contents of a picture: who believed to hold
// the lock and when, whose keys the nodes really had, what the resource let happen, and
// which faults struck. All times are run time. Package report does the drawing.
package swimlane
