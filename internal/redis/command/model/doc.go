// Package model is what a Redis node does to its data, one command after the other. The
// virtual world's nodes and the nodes of tests carry commands out with it; property
// tests hold it against a real server.
package model
