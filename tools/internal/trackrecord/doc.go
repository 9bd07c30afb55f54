// Package trackrecord measures the lock libraries of adapters/libraries.json: for each it makes a report card
// (sim audit), then searches it among real servers (sim search). It writes docs/track-record.md from what it has kept,
// and the record as a page of the site.
//
// What was measured is kept in docs/track-record/<name>/, and not measured again as long as the version of the
// library stays the same. sim works in .cache/track-record; a search that was stopped goes on there for the time
// that is left.
//
// Findings are explained in docs/findings/*.yaml, written by hand: type Finding says what stands in them. What their maintainers have not
// heard of stands in unreported/, and is not published: CheckDisclosure sees to that.
package trackrecord
