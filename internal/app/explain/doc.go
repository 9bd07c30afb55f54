// Package explain finds the point of no return of a run: the event from which on the violation of a property was certain.
package explain
