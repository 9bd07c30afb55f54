// Package explore runs scenarios thousands of times in the virtual world. It searches
// for schedules that break a lock, shrinks what it finds, and measures how often a
// setting fails.
package explore
