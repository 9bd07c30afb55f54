// Package libraries puts three lock libraries on trial, as anybody would in a module of their
// own: each in the version that its go.mod names.
package libraries
