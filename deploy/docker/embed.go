// Package docker carries the files from which the image of the nodes is built.
package docker

import _ "embed"

// Dockerfile builds the default image on top of the official one.
//
//go:embed Dockerfile
var Dockerfile string
