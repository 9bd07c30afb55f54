// Package nodetest has, for tests, random commands for a Redis node, and the scripts of lock libraries.
package nodetest
